/** The titles of the tests, as a reader of `npm test` sees them before a table fills them in. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import type { Passage } from './prose';
import { sourceFiles } from './source-files';

const DEFINERS = ['describe', 'test', 'it'];

/** Every title below `test/` that is written as text. */
export function testTitles(): Passage[] {
  return sourceFiles({ folder: 'test' }).flatMap(({ name }) => titlesOf(path.join('test', name)));
}

function titlesOf(file: string): Passage[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest);
  const titles: Passage[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && DEFINERS.includes(definerOf(node.expression))) {
      const [title] = node.arguments;
      if (title !== undefined && (ts.isStringLiteralLike(title) || ts.isTemplateExpression(title)))
        titles.push({
          file,
          line: source.getLineAndCharacterOfPosition(title.getStart(source)).line + 1,
          lines: [title.getText(source).slice(1, -1).replaceAll(/\\(.)/g, '$1')],
        });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return titles;
}

/** `test` of `test(…)`, `test.skip(…)` and `test.each(…)(…)`. */
function definerOf(callee: ts.Expression): string {
  if (ts.isIdentifier(callee)) return callee.text;
  if (ts.isPropertyAccessExpression(callee) || ts.isCallExpression(callee)) return definerOf(callee.expression);
  return '';
}
