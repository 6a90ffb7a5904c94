from .loads import (
    LoadTimes as LoadTimes,
    TrueNumber as TrueNumber,
    load_times as load_times,
    load_times_page as load_times_page,
)
