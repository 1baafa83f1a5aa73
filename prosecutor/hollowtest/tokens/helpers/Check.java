import com.sun.source.util.JavacTask;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/** Reads a list of candidates, three lines for each, and says which of them parse. It runs none of them. */
public final class Check {
    public static void main(String[] args) throws Exception {
        List<String> lines = Files.readAllLines(Path.of(args[0]));
        Map<String, Boolean> known = new HashMap<>();
        List<String> results = new ArrayList<>();
        for (int i = 0; i + 2 < lines.size(); i += 3) {
            String original = lines.get(i + 1);
            if (!known.containsKey(original)) {
                known.put(original, passes(original));
            }
            results.add(!known.get(original) ? "\"unknown\"" : passes(lines.get(i + 2)) ? "\"ok\"" : "\"invalid\"");
        }
        Files.writeString(Path.of(args[1]), "[" + String.join(",", results) + "]");
    }

    private static boolean passes(String name) throws Exception {
        String text = Files.readString(Path.of(name));
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        DiagnosticCollector<JavaFileObject> problems = new DiagnosticCollector<>();
        JavaFileObject source = new SimpleJavaFileObject(URI.create("string:///Candidate.java"), JavaFileObject.Kind.SOURCE) {
            @Override
            public CharSequence getCharContent(boolean ignoreEncodingErrors) {
                return text;
            }
        };
        JavacTask task = (JavacTask) compiler.getTask(null, null, problems, List.of("-proc:none"), null, List.of(source));
        task.parse();
        return problems.getDiagnostics().stream().noneMatch(d -> d.getKind() == Diagnostic.Kind.ERROR);
    }
}
