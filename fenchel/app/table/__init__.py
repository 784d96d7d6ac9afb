"""Tables at the door: read, understood, profiled, encoded, and predictions written."""
