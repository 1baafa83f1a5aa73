package schemata

import "fmt"

// hintFor says which assertion is missing.
func hintFor(m *mutant, never bool) string {
	if never {
		switch m.op {
		case Boundary:
			return "no test reaches it with both sides equal"
		case ConditionTrue, ReturnTrue:
			return fmt.Sprintf("no test makes `%s` false", m.original())
		case ConditionFalse, ErrorCheck:
			if m.shown == "true" {
				return fmt.Sprintf("no test makes `%s` false", m.original())
			}
			return fmt.Sprintf("no test makes `%s` true", m.original())
		}
		return "no test reaches it with a value that the change makes different"
	}
	switch m.op {
	case RemoveCall, RemoveAssign, RemoveSend, RemoveDefer, RemoveGo, RemoveLock, RemoveUnlock:
		return "the tests run it, and nothing they check depends on its effect"
	case ReturnNilError, ErrorCheck:
		return "a test makes it fail, and none checks the error"
	case ReturnError:
		return "no test checks that there is no error"
	}
	if m.infects {
		return "a test sees the changed value, and none checks what comes of it"
	}
	return "the tests run it, and none checks what comes of it"
}
