"""From a media file to what can be observed in it."""
