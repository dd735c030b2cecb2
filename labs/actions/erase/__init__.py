"""After a course's end its students' personal data go; what they earned stays, under a code name."""
