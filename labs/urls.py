"""The lab's addresses."""

from django.urls import path

from labs.views import (
    attempt,
    boards,
    class_now,
    health,
    home,
    join,
    live,
    people,
    regrade,
    replay,
    rerun,
    rules,
    sealed,
    step,
    step_file,
)

urlpatterns = [
    path("", home.home, name="home"),
    path("courses/<slug:course_slug>/steps/<slug:step_key>/", step.step, name="step"),
    path(
        "courses/<slug:course_slug>/steps/<slug:step_key>/files/<str:name>",
        step_file.step_file,
        name="step-file",
    ),
    path("courses/<slug:course_slug>/boards/", boards.boards, name="boards"),
    path("courses/<slug:course_slug>/boards/name", boards.my_name, name="board-name"),
    path("courses/<slug:course_slug>/boards/<slug:key>/", boards.board, name="board"),
    path("courses/<slug:course_slug>/boards/<slug:key>/fragment", boards.fragment, name="board-fragment"),
    path("courses/<slug:course_slug>/boards/<slug:key>/freeze", boards.freeze, name="board-freeze"),
    path("courses/<slug:course_slug>/boards/<slug:key>/projector", boards.projector, name="board-projector"),
    path("courses/<slug:course_slug>/now/", class_now.class_now, name="class-now"),
    path("join/", join.join, name="join"),
    path("set-password/<uidb64>/<token>/", join.SetPassword.as_view(), name="set-password"),
    path("courses/<slug:course_slug>/people/", people.people, name="people"),
    path("courses/<slug:course_slug>/people/list", people.roster, name="roster"),
    path("courses/<slug:course_slug>/people/code", people.code, name="join-code"),
    path("courses/<slug:course_slug>/people/links", people.links, name="login-links"),
    path("courses/<slug:course_slug>/people/back", people.bring_back_one, name="bring-back"),
    path("courses/<slug:course_slug>/rules/", rules.rules, name="rules"),
    path("courses/<slug:course_slug>/steps/<slug:step_key>/rules/", rules.rule_step, name="rule-step"),
    path("courses/<slug:course_slug>/steps/<slug:step_key>/release", rules.release, name="scores-release"),
    path("courses/<slug:course_slug>/extensions/", rules.extensions, name="extensions"),
    path("courses/<slug:course_slug>/regrades/", regrade.regrades, name="regrades"),
    path("courses/<slug:course_slug>/regrades/<int:regrade_id>/", regrade.regrade, name="regrade"),
    path("courses/<slug:course_slug>/regrades/<int:regrade_id>/end", regrade.regrade_end, name="regrade-end"),
    path(
        "courses/<slug:course_slug>/steps/<slug:step_key>/regrade/", regrade.regrade_step, name="regrade-step"
    ),
    path("attempts/<uuid:attempt_id>/points", attempt.points, name="attempt-points"),
    path("sealed/", sealed.frame, name="sealed"),
    path("courses/<slug:course_slug>/steps/<slug:step_key>/rerun/", rerun.rerun, name="rerun"),
    path(
        "courses/<slug:course_slug>/steps/<slug:step_key>/rerun/<uuid:attempt_id>",
        rerun.rerun_one,
        name="rerun-one",
    ),
    path("attempts/<uuid:attempt_id>/", attempt.attempt, name="attempt"),
    path("attempts/<uuid:attempt_id>/cancel", attempt.cancel, name="attempt-cancel"),
    path("attempts/<uuid:attempt_id>/panel", attempt.attempt_panel, name="attempt-panel"),
    path("attempts/<uuid:attempt_id>/events", live.events, name="attempt-events"),
    path(
        "attempts/<uuid:attempt_id>/recordings/<int:run>/<slug:key>/frames",
        attempt.frames,
        name="attempt-frames",
    ),
    path(
        "attempts/<uuid:attempt_id>/recordings/<int:run>/<slug:key>/replay",
        replay.replay_data,
        name="attempt-replay",
    ),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
]
