"""Whether a database turned us away for good: a wrong password, user or database name is not an outage.

SQLAlchemy and the drivers call both ``OperationalError``. SQLSTATE tells them apart (class 28: authorisation, 3D: no such
database; PostgreSQL documentation, appendix A), but libpq keeps the server's SQLSTATE to itself while it connects, so that
psycopg has only ``needs_password`` and the text. The answer of a server that does not speak English is taken for an outage:
such a call is tried again, and ends with the same message.
"""

from __future__ import annotations

import re

_CLASSES = ("28", "3D")
_TEXT = re.compile(
    r"FATAL:\s+(?:.*authentication failed for user|no pg_hba\.conf entry for"
    r"|role \".*\" (?:does not exist|is not permitted to log in)|database \".*\" does not exist|permission denied for database)"
)


def is_refusal(error: BaseException | None) -> bool:
    """``error`` is the driver's own (``DBAPIError.orig``)."""
    state = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
    if state:
        return str(state).startswith(_CLASSES)
    if getattr(getattr(error, "pgconn", None), "needs_password", False):
        return True
    return bool(_TEXT.search(str(error)))
