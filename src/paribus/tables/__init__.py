"""Any dataframe or array as typed columns with roles, and as the arrays that methods compute with."""
