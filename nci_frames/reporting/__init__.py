"""Tables -> charts and one HTML page. No arithmetic."""
