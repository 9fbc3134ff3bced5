from agiraph import Role, team

roles = [Role("Ada", "Research company A"), Role("Ben", "Research company B", title="researcher")]
print(team("Compare both companies", roles, "anthropic/claude-sonnet-4-5").output)
