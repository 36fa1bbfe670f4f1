"""Any dataframe or array as typed columns with roles, and as the arrays that the methods compute with."""
