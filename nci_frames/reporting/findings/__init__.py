"""Tables -> sentences."""
