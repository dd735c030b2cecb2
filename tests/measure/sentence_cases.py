"""Answers with their sentences. `¦` stands behind the character that makes the end of a sentence certain."""

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    marked: str
    sentences: list[str]

    @property
    def text(self) -> str:
        return self.marked.replace("¦", "")

    @property
    def deciders(self) -> list[int]:
        """The place of the deciding character of each sentence."""
        return [len(before.replace("¦", "")) - 1 for before in self._befores()]

    def _befores(self) -> list[str]:
        return [self.marked[:i] for i, char in enumerate(self.marked) if char == "¦"]


# Group H of the public reports.
H1 = [
    Case("It uses 3.5 GB of RAM. ¦Next one.¦", ["It uses 3.5 GB of RAM.", "Next one."]),
    Case("v1.0.0 at 10.30 for $3.50. ¦Ok¦", ["v1.0.0 at 10.30 for $3.50.", "Ok"]),
    Case("値は３．１４です。¦", ["値は３．１４です。"]),
]
H2 = [
    Case("Wake at 9 a.m. sharp. ¦Then go.¦", ["Wake at 9 a.m. sharp.", "Then go."]),
    Case("Dr. Kim called. ¦Yes.¦", ["Dr. Kim called.", "Yes."]),
    Case("See e.g. the log. ¦Ok.¦", ["See e.g. the log.", "Ok."]),
    Case("J. R. Park spoke. ¦Ok.¦", ["J. R. Park spoke.", "Ok."]),
    # Ambiguous; an uppercase word makes it an end (`sentences.words`).
    Case("We meet at 9 a.m. B¦ring it.¦", ["We meet at 9 a.m.", "Bring it."]),
]
H3 = [
    Case("1. Open the box.\n¦2. Close it.\n¦", ["1. Open the box.", "2. Close it."]),
    # The line before ends in a colon: the first sentence has the time of the item's text.
    Case("Steps:\n1. Boil water.\n¦", ["Steps:\n1. Boil water."]),
    Case("My birthday is in 1980. ¦Next.¦", ["My birthday is in 1980.", "Next."]),
    Case("- item one\n¦- item two\n¦", ["- item one", "- item two"]),
    Case("## Title\n¦Text. ¦More¦", ["## Title", "Text.", "More"]),
]
H7 = [
    Case("좋습니다.다¦음으로 갑니다. ¦끝¦", ["좋습니다.", "다음으로 갑니다.", "끝"]),
    Case("몇 개요?세¦ 개요. ¦끝¦", ["몇 개요?", "세 개요.", "끝"]),
    Case("버전 3.5입니다. ¦끝¦", ["버전 3.5입니다.", "끝"]),
    Case("김 박사가 왔다(사진=신문). ¦끝¦", ["김 박사가 왔다(사진=신문).", "끝"]),
    Case("그럼요 알겠습니다 네¦", ["그럼요 알겠습니다 네"]),
    Case("아르바이트를 하다 다쳤다. ¦끝¦", ["아르바이트를 하다 다쳤다.", "끝"]),
]
H8 = [
    Case("Line one\nLine two. ¦x¦", ["Line one\nLine two.", "x"]),
    Case("First\n\n¦Second¦", ["First", "Second"]),
    Case("Done.¦", ["Done."]),
    Case("Only words¦", ["Only words"]),
    Case("He arrived. ¦Ok¦", ["He arrived.", "Ok"]),
    Case("End.\n¦\n", ["End."]),
]
H9 = [
    Case("😀. Hello there. ¦", ["Hello there."]),
    Case("... ", []),
    Case("— ", []),
    Case("**", []),
    Case("<think>plan a. plan b.</think> Answer one. ¦", ["Answer one."]),
    Case("<think>cut off", []),
    Case("👩🏽‍💻 code. ¦Ok. ¦", ["👩🏽‍💻 code.", "Ok."]),
    Case("100. ¦", ["100."]),
]
LAB = [  # lab.md 7, and the handout's own examples
    Case("It costs 3.5 dollars. ¦Next¦", ["It costs 3.5 dollars.", "Next"]),
    Case("at 9 a.m. sharp. ¦Go¦", ["at 9 a.m. sharp.", "Go"]),
    Case("1. Open it.¦", ["1. Open it."]),
    Case("좋습니다. ¦네¦", ["좋습니다.", "네"]),
    Case("Dr. Main flows. ¦", ["Dr. Main flows."]),
    Case("3.14 m. ¦Next¦", ["3.14 m.", "Next"]),
]
ABBREVIATIONS = [
    Case("Open at 5p.m. today. ¦Ok¦", ["Open at 5p.m. today.", "Ok"]),
    Case("At 9 a.m. 에 봐요. ¦네¦", ["At 9 a.m. 에 봐요.", "네"]),
    Case("We meet at 9 a.m.\n\n¦bring it¦", ["We meet at 9 a.m.", "bring it"]),
    Case("We meet at 9 a.m. (¦", ["We meet at 9 a.m."]),
    Case("We left (at 9 a.m.). ¦ok¦", ["We left (at 9 a.m.).", "ok"]),
    Case("Apples, etc. are red. ¦Ok¦", ["Apples, etc. are red.", "Ok"]),
    Case('He eats apples, etc. "S¦o do I.¦', ["He eats apples, etc.", '"So do I.']),
    Case("The U.S. grew. ¦Ok¦", ["The U.S. grew.", "Ok"]),
    Case("J.R. Park and George W. Bush spoke. ¦Ok¦", ["J.R. Park and George W. Bush spoke.", "Ok"]),
    Case("It is H2O. ¦It is wet.¦", ["It is H2O.", "It is wet."]),
    Case("No. I¦t is not No. 5. ¦Ok¦", ["No.", "It is not No. 5.", "Ok"]),
    Case("See p. 12, Fig. 3. ¦Ok¦", ["See p. 12, Fig. 3.", "Ok"]),
    Case("**Dr.** Kim called. ¦Yes¦", ["**Dr.** Kim called.", "Yes"]),
    Case("At 9 a.m. — Bring it. ¦", ["At 9 a.m. — Bring it."]),
    Case("É. Dupont spoke. ¦Ok¦", ["É. Dupont spoke.", "Ok"]),
    Case("I need a rep. ¦Ask one.¦", ["I need a rep.", "Ask one."]),
]
LISTS = [
    Case("**1.** Open it. ¦**2.** Close it.¦", ["**1.** Open it.", "**2.** Close it."]),
    Case("1) Open it\n¦2) Close it\n¦", ["1) Open it", "2) Close it"]),
    Case("a. Open it. ¦b. Close it.¦", ["a. Open it.", "b. Close it."]),
    Case("Steps: 1. Boil. ¦2. Drink.¦", ["Steps: 1. Boil.", "2. Drink."]),
    Case("The answer is: 42. ¦Yes.¦", ["The answer is: 42.", "Yes."]),
    Case("Two things\n- ¦tea\n¦- milk¦", ["Two things", "- tea", "- milk"]),
    Case("**Steps:**\n* boil\n¦* drink¦", ["**Steps:**\n* boil", "* drink"]),
    Case("Steps:\n\n¦1. Boil.¦", ["Steps:", "1. Boil."]),
    Case("1.\n\nOpen it. ¦", ["1.\n\nOpen it."]),
    Case("3.¦", ["3."]),
    Case("Two things\n1.¦¦", ["Two things", "1."]),
    Case("- 5.\n¦- 6.\n¦", ["- 5.", "- 6."]),
    Case("- Ask Dr.\n¦- Go\n¦", ["- Ask Dr.", "- Go"]),
    Case("*Note* this\nline. ¦", ["*Note* this\nline."]),
]
TAILS = [
    Case("What?! ¦Yes.¦", ["What?!", "Yes."]),
    Case("뭐?!정¦말¦", ["뭐?!", "정말"]),
    Case("Wait... what? ¦Ok¦", ["Wait... what?", "Ok"]),
    Case("Well... I¦ do.¦", ["Well...", "I do."]),
    Case("음...그래요. ¦끝¦", ["음...그래요.", "끝"]),
    Case("Hm… yes. ¦", ["Hm… yes."]),
    Case('He said "Stop." T¦hen he left.¦', ['He said "Stop."', "Then he left."]),
    Case('"Go!" he said. ¦', ['"Go!" he said.']),
    Case("(He left.) ok. ¦", ["(He left.) ok."]),
    Case('그는 "네."라고 했다. ¦끝¦', ['그는 "네."라고 했다.', "끝"]),
    Case("버전 3.입니다. ¦끝¦", ["버전 3.입니다.", "끝"]),
    Case("これが.は¦い¦", ["これが.", "はい"]),
    Case("「行きます。」と言った。¦", ["「行きます。」と言った。"]),
    Case("すごい！？ほ¦んと¦", ["すごい！？", "ほんと"]),
    Case("他走了。“¦再见¦", ["他走了。", "“再见"]),
    Case("**Open it.** ¦Then go.¦", ["**Open it.**", "Then go."]),
    Case("Great!😀 ¦Next.¦", ["Great!😀", "Next."]),
    Case("See example.com or a.b. ¦Ok¦", ["See example.com or a.b.", "Ok"]),
    Case("He ended. ¦then he left.¦", ["He ended.", "then he left."]),
]
THOUGHTS = [
    Case("One.<think>¦ two. three.</think>Four¦", ["One.", "Four"]),
    Case("<THINK>a. b</Think>Yes. ¦", ["Yes."]),
    Case("if a <b then. ¦", ["if a <b then."]),
    Case("a <<think>x</think> b. ¦", ["a <  b."]),
    Case("여기요.<th¦", ["여기요.<th"]),
    Case("</think>\n\nOk. ¦", ["Ok."]),
]
CASES = [*H1, *H2, *H3, *H7, *H8, *H9, *LAB, *ABBREVIATIONS, *LISTS, *TAILS, *THOUGHTS]
