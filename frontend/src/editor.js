// The code editor: CodeMirror in a shadow root, where its styles are constructed sheets and need no inline style.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

// Every colour has at least 4.5:1 on --surface and on the active line, light and dark (static/labs/sse.css).
const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--code-word)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-value)" },
  { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
  { tag: [tags.definition(tags.variableName), tags.function(tags.definition(tags.variableName))], color: "var(--code-name)" },
]);

const theme = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--surface)", fontSize: "0.9375rem" },
  "&.cm-focused": { outline: "3px solid var(--accent)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", maxHeight: "34rem", overflow: "auto" },
  ".cm-content": { caretColor: "var(--text)", padding: "0.5rem 0" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { color: "var(--soft)", backgroundColor: "var(--sunken)", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--accent-wash) 55%, transparent)" },
  ".cm-selectionBackground, &.cm-focused .cm-selectionBackground": { backgroundColor: "var(--accent-wash) !important" },
  ".cm-matchingBracket": { backgroundColor: "var(--open-wash)", outline: "1px solid var(--line-strong)" },
  ".cm-diagnostic": { fontFamily: "var(--sans)" },
  ".cm-tooltip": { backgroundColor: "var(--surface)", color: "var(--text)", border: "1px solid var(--line-strong)" },
});

export class Editor {
  /** `host` is an empty element; `label` what a screen reader calls the field; `onChange` gets no arguments. */
  constructor(host, { text, label, onChange }) {
    const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
    this.view = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: text,
        extensions: [
          lineNumbers(), highlightActiveLineGutter(), highlightActiveLine(), drawSelection(), history(),
          indentOnInput(), indentUnit.of("    "), bracketMatching(), lintGutter(), python(), theme,
          syntaxHighlighting(colours), EditorState.tabSize.of(4),
          // Tab is not bound: it leaves the editor, so nobody is trapped in it.
          // What can be edited takes the focus anyway; not every tool that looks after that knows it without tabindex.
          EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", tabindex: "0" }),
          keymap.of([...defaultKeymap, ...historyKeymap]),
          EditorView.updateListener.of((update) => update.docChanged && onChange()),
        ],
      }),
    });
  }

  get text() {
    return this.view.state.doc.toString();
  }

  /** Never in the middle of a composition: a Korean syllable being typed would be doubled. */
  set text(text) {
    if (text === this.text || this.view.composing) return;
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
  }

  /** Marks a line with a message, or with `line` null takes the marks away. */
  mark(line, message = "") {
    const doc = this.view.state.doc;
    const found = line >= 1 && line <= doc.lines ? doc.line(line) : null;
    const marks = found ? [{ from: found.from, to: found.to, severity: "error", message }] : [];
    this.view.dispatch(setDiagnostics(this.view.state, marks));
    if (found) this.view.dispatch({ effects: EditorView.scrollIntoView(found.from, { y: "nearest" }) });
  }

  close() {
    this.view.destroy();
  }
}
