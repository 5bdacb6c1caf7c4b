"""`zim_query`: requests and questions in plain words."""
