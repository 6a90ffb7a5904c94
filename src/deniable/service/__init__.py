"""Collection service: contributors post randomised reports from their own devices, and the service adds them up.

One process, the *collector*, listens on two ports. The public port serves the survey page and the client, and takes the
uploads. The admin port serves the dashboard. The collector knows reports and never a true answer. Everything that it
keeps lies in one database.

These are the rules for people who write pages and clients:

* ``GET /s/{slug}`` returns a shell that the server renders from ``templates/survey.html``. The browser builds its
  contents. The shell has ``<main id="survey" data-collection="<id>" data-slug="<slug>" data-api="/api/v1">`` and loads
  one module and one style sheet.
* Bundles lie in ``static/`` as they are built, ``survey.js`` and ``survey.css`` among them. Each is served under two
  names. The content under its own name may change. The content under the name with 16 hex digits of its SHA-256,
  ``/static/survey.<digits>.js``, is immutable. The shell refers to the latter name, and `deniable serve` prints it. A
  link to a survey is ``<origin>/s/<slug>#<32 hex digits>`` (`deniable.service.survey_page.link_digits`).
* The survey document (`deniable.service.survey_page`), problem documents (`deniable.service.problems`) and results
  (`deniable.service.results`) have an example each in ``tests/vectors/service``.

The package needs the extra ``service``, and with PostgreSQL also ``postgres``. The library imports nothing of it.
"""
