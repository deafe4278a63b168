"""For all tests."""

import os
import time

# The sample tables' LOCAL times are UTC: west of it, a host's clock would be behind their timelines for some hours.
os.environ["TZ"] = "UTC"
time.tzset()
