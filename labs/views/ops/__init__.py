"""The pages of those who run the site: the servers, and what does not end."""
