"""What the step about reading a stream is made of: streams drawn fresh, and a student's answers held against them.

Streams are plain JSON: {"parse": {name: [[at_ms, line], ...]}, "feed": {name: [[at_ms, base64], ...]}}. A name is
the function that reads them, a stream's name the trap it holds. Answers have the same shape, each
{"value": {...}} or {"error": str, "line": int}.
"""
