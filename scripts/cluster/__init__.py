"""`scripts/topology`: what docker-compose.yml describes, from processes on one machine."""
