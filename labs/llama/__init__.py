"""Speaking to llama-server: client, event stream, wire types, the embedded server. No Django here."""
