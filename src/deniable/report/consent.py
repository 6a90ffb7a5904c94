"""Consent text for people who may take part, with blanks that a collection fills as far as it can.

The numbers come from the collection's derived guarantee. Facts that only the organiser knows stay blanks in brackets
until they are given. The text is a draft that the responsible person must read. It is not legal advice.
"""

from __future__ import annotations

import jinja2

from deniable.core.privacy import bound_text
from deniable.records.record import is_records
from deniable.survey.collection import Collection, short_id
from deniable.survey.inspection import inspect_collection

ABOUT = {
    "one": "It is about only one of the questions, which your device draws. ",
    "pairs": "It is about only one or two of the questions, which your device draws. ",
}
"""Sentences about a report that is not about every question, by `RecordMechanism.reveals`."""


def consent_text(
    collection: Collection,
    *,
    who: str = "[who asks]",
    why: str = "[What it is for, and what you will do with the result.]",
    voluntary: str = "[That nobody has to take part, and what happens to people who do not.]",
    network: str = "[What your server stores of this, and for how long.]",
    rounds: str = "[Once; or how often, and that the budgets add up.]",
    kept: str = "[The sum of all reports, and for how long; or the reports as well.]",
    contact: str = "[Name, address, and the data protection officer.]",
) -> str:
    """Organiser: return the text that people read before they take part, filled in from a collection.

    Parameters
    ----------
    collection : Collection
        The collection. The text states its questions, and its guarantee in plain words.
    who, why, voluntary, network, rounds, kept, contact : str
        Sentences that only the organiser can write. The defaults are blanks in brackets.

    Returns
    -------
    str
        Plain text; paragraphs are divided by empty lines.

    Examples
    --------
    >>> from deniable import Attribute, Schema, collection
    >>> text = consent_text(collection(Schema((Attribute("smoker", ("yes", "no")),)), 1), who="The health office")
    >>> print(text.splitlines()[3])
    The health office asks you one question: smoker. [What it is for, and what you will do with the result.]
    >>> "nobody's odds about you can change by more than a factor of 2.72" in text
    True
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("deniable.report"), undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    found, mechanism = inspect_collection(collection), collection.mechanism
    titles = [attribute.title or attribute.name for attribute in collection.schema.attributes]
    return environment.get_template("consent.txt").render(
        title=collection.title or "[Title]",
        who=who,
        why=why,
        count="one question" if len(titles) == 1 else f"{len(titles)} questions",
        questions=titles,
        about=ABOUT.get(mechanism.reveals, "") if is_records(mechanism) else "",
        promises=[*found.sentences, *found.warnings],
        epsilon=bound_text(found.guarantee.epsilon),
        dealt=collection.dealt,
        voluntary=voluntary,
        network=network,
        rounds=rounds,
        kept=kept,
        contact=contact,
        id=short_id(collection.id),
    )
