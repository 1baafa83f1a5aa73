// A reporter that names the test files of a run.
export default async function* files(source) {
  for await (const event of source) {
    const data = event.data;
    if (data && data.file && data.name === data.file && data.nesting === 0) yield `PROSECUTOR-FILE ${JSON.stringify(data.file)}\n`;
    if (event.type === 'test:fail') yield `PROSECUTOR-FAIL ${JSON.stringify({ file: data.file, name: data.name })}\n`;
  }
}
