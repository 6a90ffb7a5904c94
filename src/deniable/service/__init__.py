"""The collection service: reports of real people, posted from their own devices, in; a sum of them out.

One process, the *collector*, listens on two ports. The public one has the survey page, the client and the upload; the
admin one the dashboard. It knows reports and never a true answer. Everything it keeps lies in one database.

For who writes pages and clients:

* ``GET /s/{slug}`` is a shell that the server renders from ``templates/survey.html``; what it contains is built in the
  browser. The shell says ``<main id="survey" data-collection="<id>" data-slug="<slug>" data-api="/api/v1">`` and loads
  one module and one sheet.
* Bundles lie in ``static/`` as they are built, ``survey.js`` and ``survey.css`` among them. They are served under their
  names, which may change, and, immutable, with 16 hex digits of their SHA-256, ``/static/survey.<digits>.js``: the
  shell refers to the latter, and `deniable serve` prints them. A link to a survey is
  ``<origin>/s/<slug>#<32 hex digits>`` (`deniable.service.survey_page.link_digits`).
* The survey document (`deniable.service.survey_page`), problem documents (`deniable.service.problems`) and results
  (`deniable.service.results`) have an example each in ``tests/vectors/service``.

Needs the extra ``service``; with PostgreSQL also ``postgres``. Nothing of it is imported by the library.
"""
