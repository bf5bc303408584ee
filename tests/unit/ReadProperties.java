import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;

/** Reads the files that its standard input names and prints what java.util.Properties makes of each, in hexadecimal. */
class ReadProperties {
    public static void main(String[] arguments) throws IOException {
        var names = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String name; (name = names.readLine()) != null; ) {
            var read = new Properties();
            try (var file = new InputStreamReader(new FileInputStream(name), StandardCharsets.UTF_8)) {
                read.load(file);
                var shown = new TreeSet<String>();
                read.forEach((key, value) -> shown.add(hex(key) + "=" + hex(value)));
                System.out.println(String.join(" ", shown));
            } catch (IllegalArgumentException error) {
                System.out.println("malformed");
            }
        }
    }

    static String hex(Object text) {
        var shown = new StringBuilder();
        for (char unit : text.toString().toCharArray()) shown.append(String.format("%04x", (int) unit));
        return shown.toString();
    }
}
