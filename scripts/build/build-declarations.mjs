/** Writes the type declarations of the package's entry points into dist/, and of the files that they name. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { parseJson } from '../process/parse-json.mjs';
import { ROOT } from '../process/repository.mjs';

const SRC = join(ROOT, 'src');
const DIST = join(ROOT, 'dist');

/** Declarations outside it would show how Weir works inside. */
const PUBLIC = join(SRC, 'library');

const ENTRY = /^\.\/dist\/(.+)\.d\.ts$/;
const IMPORT = /from '(\.[^']+)'/g;

/**
 * One file at a time, from its own text: exported functions say their types, so the compiler needs no other file. A build that emits
 * all declarations takes longer and writes those of the whole service.
 *
 * Resolves to what failed, or to undefined.
 */
export async function buildDeclarations() {
  // When this file is read, the packages may not be installed yet.
  const { default: ts } = await import('typescript');
  const waiting = entryPoints();
  /** @type {Set<string>} */
  const written = new Set();
  for (let source = waiting.pop(); source !== undefined; source = waiting.pop()) {
    if (written.has(source)) continue;
    written.add(source);
    const name = relative(SRC, source);
    if (relative(PUBLIC, source).startsWith('..')) return `src/${name} is named by a declaration of src/library; declare its types there`;
    const { outputText, diagnostics = [] } = ts.transpileDeclaration(readFileSync(source, 'utf8'), {
      fileName: source,
      reportDiagnostics: true,
      compilerOptions: { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.Node16, strict: true, exactOptionalPropertyTypes: true },
    });
    const [problem] = diagnostics;
    if (problem !== undefined) return `src/${name}: ${ts.flattenDiagnosticMessageText(problem.messageText, ' ')}`;
    const output = join(DIST, name.replace(/\.ts$/, '.d.ts'));
    mkdirSync(dirname(output), { recursive: true });
    writeFileSync(output, outputText);
    for (const [, specifier = ''] of outputText.matchAll(IMPORT)) waiting.push(`${resolve(dirname(source), specifier)}.ts`);
  }
  return undefined;
}

/** The sources of the types that package.json exports. */
function entryPoints() {
  const { exports } = /** @type {{ exports: Readonly<Record<string, string | { types: string }>> }} */ (
    parseJson(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  );
  return Object.values(exports).flatMap((entry) => {
    const [, name] = typeof entry === 'string' ? [] : (ENTRY.exec(entry.types) ?? []);
    return name === undefined ? [] : [join(SRC, `${name}.ts`)];
  });
}
