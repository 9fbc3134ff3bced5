from pydantic import BaseModel, Field

from agiraph import Runtime, Task


class Company(BaseModel):
    name: str
    employees: int = Field(ge=1)
    products: list[str]


task = Task("Describe the company Acme", output_format=Company)
company = Runtime("anthropic/claude-sonnet-4-5").run(task).output
print(company.name, company.employees + 1, company.products[0].upper())
