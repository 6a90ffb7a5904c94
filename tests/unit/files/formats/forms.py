"""Forms for the tests of readers."""

from __future__ import annotations

from deniable import Collection, Schema
from deniable.core.construction import mechanism
from deniable.survey.schema import Attribute


def _survey() -> Collection:
    schema = Schema(
        (
            Attribute("do you smoke?", ("oui", "non, été"), missing="no answer", title="Fumez-vous ?"),
            Attribute("devices", ("phone", "Phone!"), kind="multiple"),
            Attribute("2nd", tuple("abc")),
        )
    )
    return Collection(schema, mechanism("SPL", sizes=schema.sizes, epsilon="1"), title="Été")


EXPECTED = {
    "do_you_smoke": ("Fumez-vous ?", {0: "oui", 1: "non, été", 2: "no answer"}),
    "devices_phone": ("devices: phone", {0: "no", 1: "yes"}),
    "devices_Phone_2": ("devices: Phone!", {0: "no", 1: "yes"}),
    "v_2nd": ("2nd", {0: "a", 1: "b", 2: "c"}),
}
