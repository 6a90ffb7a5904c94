"""Surveys for tests of the survey page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deniable.core.construction import mechanism
from deniable.survey.collection import Collection
from deniable.survey.schema import Attribute, Schema

WORDS = b"apple\nbanana\ncherry\nelderberry\nfig\n"


def every_kind(folder: Path, name: str = "SMP[ADP]", epsilon: str = "1", **settings: Any) -> Collection:
    """Return a survey with a question of every kind."""
    (folder / "fruits.txt").write_bytes(WORDS)
    schema = Schema(
        (
            Attribute("exercise", ("daily", "weekly", "never"), missing="no answer", kind="ordered"),
            Attribute("age", edges=(20, 40, 60)),
            Attribute("hours", kind="numeric", range=(0, 24), grid=9, missing="none"),
            Attribute("devices", ("phone", "radio"), kind="multiple"),
            Attribute.from_dictionary("fruit", folder / "fruits.txt", other="another"),
        )
    )
    made = mechanism(name, sizes=schema.sizes, epsilon=epsilon, **settings)
    return Collection(schema, made, title="How people live")


def page_of(collection: Collection) -> dict[str, Any]:
    """Return the survey document of `every_kind`, in English, German and Arabic."""
    english = {
        "title": "How people live",
        "intro": "We are asking how people spend their days. It takes two minutes.",
        "consent": "Taking part is voluntary. You can stop at any time before you send.",
        "thanks": "Thank you. You can close this page.",
        "questions": {
            "exercise": "How often do you exercise?",
            "age": "How old are you?",
            "hours": "How many hours did you sleep?",
            "devices": "Which of these do you own?",
            "fruit": "Which fruit do you like best?",
        },
        "labels": {
            "exercise": ["every day", "every week", "never", "I prefer not to say"],
            "age": ["below 20", "20 to 39", "40 to 59", "60 and more"],
            "hours": ["0", "3", "6", "9", "12", "15", "18", "21", "24", "I do not know"],
            "devices": ["a phone", "a radio"],
        },
    }
    german = {
        "title": "Wie Menschen leben",
        "intro": "Wir fragen, wie Menschen ihre Tage verbringen. Es dauert zwei Minuten.",
        "consent": "Die Teilnahme ist freiwillig.",
        "thanks": "Danke.",
        "questions": {
            "exercise": "Wie oft treiben Sie Sport?",
            "age": "Wie alt sind Sie?",
            "hours": "Wie viele Stunden haben Sie geschlafen?",
            "devices": "Was davon besitzen Sie?",
            "fruit": "Welches Obst mögen Sie am liebsten?",
        },
        "labels": {
            "exercise": ["täglich", "wöchentlich", "nie", "keine Angabe"],
            "age": ["unter 20", "20 bis 39", "40 bis 59", "60 und mehr"],
            "hours": ["0", "3", "6", "9", "12", "15", "18", "21", "24", "weiß nicht"],
            "devices": ["ein Telefon", "ein Radio"],
        },
        "interface": {"agree": "Ja, ich nehme teil."},
    }
    arabic = {
        "title": "كيف يعيش الناس",
        "intro": "نسأل كيف يقضي الناس أيامهم.",
        "consent": "المشاركة طوعية.",
        "thanks": "شكرا لك.",
        "questions": {
            "exercise": "كم مرة تمارس الرياضة؟",
            "age": "كم عمرك؟",
            "hours": "كم ساعة نمت؟",
            "devices": "أي من هذه تملك؟",
            "fruit": "ما الفاكهة المفضلة لديك؟",
        },
        "labels": {
            "exercise": ["كل يوم", "كل أسبوع", "أبدا", "أفضل عدم الإجابة"],
            "age": ["أقل من 20", "20 إلى 39", "40 إلى 59", "60 وأكثر"],
            "hours": ["0", "3", "6", "9", "12", "15", "18", "21", "24", "لا أعرف"],
            "devices": ["هاتف", "راديو"],
        },
    }
    return {
        "format": "deniable survey page",
        "format_version": 1,
        "collection": collection.id,
        "languages": {"en": english, "de": german, "ar": arabic},
        "access": "open",
        "retention": "aggregate",
        "min_batch": 100,
        "opens_at": None,
        "closes_at": None,
        "grace_hours": 72,
        "contributors": 1000,
        "contact": "asking@example.org",
    }
