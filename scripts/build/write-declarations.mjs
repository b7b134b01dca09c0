/** Writes the type declarations of a package's exports, and of the files that they name. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { ROOT } from '../process/repository.mjs';

const SRC = join(ROOT, 'src');

/** Declarations outside it would show how Weir works inside. */
const PUBLIC = join(SRC, 'program', 'library');

const IMPORT = /from '(\.[^']+)'/g;

/**
 * One file at a time, from its own text: exported functions say their types, so the compiler needs no other file. A build that emits
 * all declarations takes longer and writes those of the whole service.
 *
 * Resolves to what failed, or to undefined.
 *
 * @param {{ sources: readonly string[], output: string }} options `sources` are names below src/, without their ending.
 */
export async function writeDeclarations({ sources, output }) {
  // When this file is read, the packages may not be installed yet.
  const { default: ts } = await import('typescript');
  const waiting = sources.map((name) => join(SRC, `${name}.ts`));
  /** @type {Set<string>} */
  const written = new Set();
  for (let source = waiting.pop(); source !== undefined; source = waiting.pop()) {
    if (written.has(source)) continue;
    written.add(source);
    const name = relative(SRC, source);
    if (relative(PUBLIC, source).startsWith('..'))
      return `src/${name} is named by a declaration of src/program/library; declare its types there`;
    const { outputText, diagnostics = [] } = ts.transpileDeclaration(readFileSync(source, 'utf8'), {
      fileName: source,
      reportDiagnostics: true,
      compilerOptions: { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.Node16, strict: true, exactOptionalPropertyTypes: true },
    });
    const [problem] = diagnostics;
    if (problem !== undefined) return `src/${name}: ${ts.flattenDiagnosticMessageText(problem.messageText, ' ')}`;
    const file = join(output, name.replace(/\.ts$/, '.d.ts'));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, outputText);
    for (const [, specifier = ''] of outputText.matchAll(IMPORT)) waiting.push(`${resolve(dirname(source), specifier)}.ts`);
  }
  return undefined;
}
