from agiraph import Runtime, Task

runtime = Runtime("script/survey")
result = runtime.run(Task("Survey this folder", input="."))
print(result.output)
for name, path in result.files.items():
    print(name, path.stat().st_size, "bytes")
