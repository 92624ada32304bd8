import { dirname, join } from 'node:path';
import ts from 'typescript';
import { expect, it } from 'vitest';
import { programOfTexts } from './reading/program.js';
import { filesUnder, readText, root } from './reading/repository.js';

const documents = [
  ...['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md'],
  ...['packages', 'examples', 'bench', 'tests', 'docs', 'site/docs'].flatMap((folder) =>
    filesUnder(folder, ['.md']),
  ),
];
const GLOBALS = join(import.meta.dirname, 'rules', 'readme-globals.d.ts');

/**
 * The fenced `ts` examples of a document, by the path that each would have as a module beside the
 * document.
 */
function examplesOf(document: string): [path: string, text: string][] {
  const fences = readText(document).matchAll(/^```ts\n(.*?)^```/gms);
  return Array.from(fences, ([, text], i) => {
    const folder = join(root, dirname(document));
    return [join(folder, `${document.replaceAll('/', '_')}.example-${i + 1}.ts`), `${text}\nexport {};\n`];
  });
}

it('examples in READMEs pass the type check', () => {
  const examples = new Map(documents.flatMap(examplesOf));
  const program = programOfTexts(examples, [GLOBALS]);
  const problems = [...examples.keys()].flatMap((path) => {
    const file = program.getSourceFile(path)!;
    return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map(describe);
  });
  expect(problems).toEqual([]);
  expect(examples.size).toBeGreaterThanOrEqual(10);
});

it('README.md begins with the two commands that run the example and the tests', () => {
  const [first, second] = Array.from(
    readText('README.md').matchAll(/^```bash\n(.*?)^```/gms),
    ([, text]) => text,
  );
  expect([first, second]).toEqual(['npm run mnist\n', 'npm test\n']);
});

function describe({ file, start, messageText }: ts.Diagnostic): string {
  const line = file!.getLineAndCharacterOfPosition(start!).line + 1;
  const name = file!.fileName.slice(dirname(file!.fileName).length + 1);
  return `${name}:${line}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
}
