"""Settings of the tests."""

from hypothesis import HealthCheck, settings

# The machines that run the tests are shared, so how long an example took says nothing.
settings.register_profile("shared", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared")
