import traceback


def many():
    errors = []
    for i in range(3):
        try:
            [1, 2][i + 1]
        except IndexError as e:
            e.add_note(f"index {i + 1}")
            errors.append(e)
    raise ExceptionGroup("several", errors)


try:
    many()
except* IndexError as group:
    print(len(group.exceptions))
    traceback.print_exception(group)
try:
    try:
        many()
    except* ValueError:
        print("never")
finally:
    print("out")
