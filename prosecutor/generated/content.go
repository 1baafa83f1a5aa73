package generated

// ReadsContent reports whether Classify may read the content of a changed file of that name at the base. It lets a reader
// fetch such files together.
func ReadsContent(name string) bool { return len(contentRules(name)) > 0 }
