package schemata

// Operator is a kind of mutant, as reports and the policy's accepted mutants name it.
type Operator string

// The operators. docs/hollow-test.md shows an example of each.
const (
	Boundary       Operator = "comparison_boundary" // < becomes <=
	Negation       Operator = "comparison_negation" // < becomes >=, == becomes !=
	ConditionTrue  Operator = "condition_true"
	ConditionFalse Operator = "condition_false"
	ErrorCheck     Operator = "error_check" // if err != nil never happens
	LogicalSwap    Operator = "logical_swap"
	LogicalOperand Operator = "logical_operand" // one side of && or || decides nothing
	Arithmetic     Operator = "arithmetic"
	Bitwise        Operator = "bitwise"
	Shift          Operator = "shift"
	Concat         Operator = "concat"
	AssignOp       Operator = "assign_op"    // += becomes -=
	AssignPlain    Operator = "assign_plain" // += becomes =
	IncDec         Operator = "increment"
	Unary          Operator = "unary"
	ReturnZero     Operator = "return_zero"
	ReturnTrue     Operator = "return_true"
	ReturnNilError Operator = "return_nil_error"
	ReturnError    Operator = "return_error"
	RemoveCall     Operator = "remove_call"
	RemoveAssign   Operator = "remove_assignment"
	RemoveSend     Operator = "remove_send"
	RemoveDefer    Operator = "remove_defer"
	RemoveReturn   Operator = "remove_return"
	IntLiteral     Operator = "literal_int"
	StringLiteral  Operator = "literal_string"
	BoolLiteral    Operator = "literal_bool"
	SliceBound     Operator = "slice_bound"
	LoopBranch     Operator = "loop_branch" // break becomes continue
	LoopNever      Operator = "loop_never"
	CaseBody       Operator = "case_body"
	SwapArguments  Operator = "swap_arguments"
	Initializer    Operator = "initializer"
	Constant       Operator = "constant" // built alone

	RemoveGo     Operator = "remove_go"     // opt-in
	RemoveLock   Operator = "remove_lock"   // opt-in
	RemoveUnlock Operator = "remove_unlock" // opt-in
)

// OptIn lists the operators that are off unless Engine.Enable names them: their mutants hang, or change what only a race
// shows.
func OptIn() []Operator { return []Operator{RemoveGo, RemoveLock, RemoveUnlock} }

// severity orders the mutants of a line: what removes behaviour comes before what shifts it.
var severity = map[Operator]int{
	ErrorCheck: 0, ReturnNilError: 1, RemoveCall: 2, RemoveAssign: 3, ConditionFalse: 4, ConditionTrue: 5, ReturnZero: 6,
	ReturnTrue: 7, LogicalOperand: 8, Negation: 9, LogicalSwap: 10, Boundary: 11, RemoveDefer: 12, RemoveReturn: 13,
	RemoveSend: 14, CaseBody: 15, LoopNever: 16, LoopBranch: 17, Arithmetic: 18, AssignOp: 19, IncDec: 20, Concat: 21,
	AssignPlain: 22, Unary: 23, Bitwise: 24, Shift: 25, SliceBound: 26, SwapArguments: 27, BoolLiteral: 28, Initializer: 29,
	IntLiteral: 30, StringLiteral: 31, ReturnError: 32, Constant: 33, RemoveGo: 34, RemoveLock: 35, RemoveUnlock: 36,
}
