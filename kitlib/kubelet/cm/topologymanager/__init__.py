"""The topology manager: hints, policies and scopes."""
