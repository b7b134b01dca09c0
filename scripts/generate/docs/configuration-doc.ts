/** Writes `docs/configuration.md` from the table of fields. */

import type { Field, Level, Mistake } from '../../../src/configuration/compile/field-types/field';
import { LEVELS } from '../../../src/configuration/compile/fields/levels';
import { UNSEEN_FAULTS } from './unseen-faults';

const REFERENCE = 'envoyproxy/ratelimit';

const HEAD = `# Configuration

Every field of a configuration file, generated from \`src/configuration/compile/fields\` by \`node scripts/generate/docs.mjs\`.

- A file is a YAML map with one domain. Weir reads a file, a directory, or resources over xDS ([reload.md](reload.md), [envoy-gateway.md](envoy-gateway.md)).
- An error rejects the whole configuration; the last good one stays in force. An unknown key is an error. \`weir check FILE\` shows all errors with file, line, column and field, and warnings about fields without effect and probable mistakes ([cli.md](cli.md#weir-check)).
- A field without a value (\`~\`) counts as absent. \`yes\`, \`no\`, \`on\` and \`off\` are booleans, too. Names of values are case-insensitive. A range such as 1 to 10000 takes whole numbers.
- Fields of [envoyproxy/ratelimit](https://github.com/envoyproxy/ratelimit) mean the same as there; [differences.md](differences.md) lists exceptions.

## In an editor

[weir.schema.json](generated/weir.schema.json) is the same table as a JSON Schema (draft 2020-12); \`weir schema\` prints it. Editors with the YAML language server check and complete a file that begins with:

    # yaml-language-server: $schema=weir.schema.json

The value is a path or a URL. The schema finds wrong names, types and ranges. The columns *why the schema misses it* and the [last section](#what-the-schema-does-not-find) say what it cannot find, and why.
`;

const FIELDS_HEAD = '| Field | Takes | Default | Meaning |\n|---|---|---|---|\n';

const MISTAKES_HEAD = '| Mistake | Error | Why the schema misses it |\n|---|---|---|\n';

const VALUES_HEAD = `## Values

Mistakes that the schema misses, for every field that takes such a value. Each form of an error stands once. Errors of all others say what to write.

| Takes | Mistake | Error | Why the schema misses it |
|---|---|---|---|
`;

const UNSEEN_HEAD = `## What the schema does not find

Beside the mistakes above. \`…\` stands for variable parts.

`;

/** The whole page, ending with a newline. */
export function renderConfigurationDoc(levels: readonly Level[] = LEVELS): string {
  const shown = new Set<string>();
  const chapters = levels.map((level) => renderLevel(level, shown));
  return [HEAD, ...chapters, `${VALUES_HEAD}${renderValues(levels)}`, `${UNSEEN_HEAD}${renderUnseen(levels)}`].join('\n');
}

function renderLevel({ name, meaning, entries, ignored }: Level, shown: Set<string>): string {
  const fields = entries.map(([, field]) => field);
  const parts = [
    `## ${name}`,
    `${meaning} ${originOf(fields)}`.trimEnd(),
    `${FIELDS_HEAD}${fields.map(renderField).join('')}`.trimEnd(),
    ...Object.entries(ignored).map(([key, why]) => `\`${key}\` ${why}.`),
    ...renderMistakes(fields, shown),
  ];
  return `${parts.join('\n\n')}\n`;
}

/** Which fields envoyproxy/ratelimit has, too. */
function originOf(fields: readonly Field[]): string {
  const theirs = fields.filter(({ of }) => of === REFERENCE).map(({ name }) => `\`${name}\``);
  if (theirs.length === 0) return '';
  return theirs.length === fields.length ? `As in ${REFERENCE}.` : `${REFERENCE} has ${theirs.join(', ')}.`;
}

function renderField({ name, type, required, unset, default: value, meaning, example }: Field): string {
  const absent = required !== undefined ? 'required' : value !== undefined ? `\`${value}\`` : (unset ?? '');
  // A plain word or number needs no example.
  const such = /^[\w.-]+$/.test(example) ? '' : ` Example: \`${example}\`.`;
  return `| \`${name}\` | ${shortened(type.accepts)} | ${absent} | ${meaning}${such} |\n`;
}

function shortened(accepts: string): string {
  return accepts
    .replace(/^true or false$/, 'boolean')
    .replace(/^a whole number from (\d+ to \d+)$/, '$1')
    .replace(/, such as .*$/, '');
}

/** The mistakes of these fields alone, each shown at one level, except that a required one is missing; those of their types have a section of their own. */
function renderMistakes(fields: readonly Field[], shown: Set<string>): string[] {
  const rows = fields
    .flatMap(({ mistakes = [], required }) => mistakes.filter(({ says }) => required === undefined || !says.startsWith('is missing')))
    .map((mistake) => `| ${renderMistake(mistake)}\n`);
  const fresh = [...new Set(rows)].filter((row) => !shown.has(row));
  for (const row of fresh) shown.add(row);
  return fresh.length === 0 ? [] : [`${MISTAKES_HEAD}${fresh.join('')}`.trimEnd()];
}

/** The mistakes of types that an editor does not show, each form of an error once. */
function renderValues(levels: readonly Level[]): string {
  const rowByForm = new Map<string, string>();
  for (const { type } of levels.flatMap(({ entries }) => entries.map(([, field]) => field))) {
    const takes = shortened(type.accepts)
      .replace(/^\d+ to \d+$/, 'a whole number')
      .replace(/^a list .*$/, 'a list of maps');
    for (const mistake of type.mistakes.filter(({ unseen }) => unseen !== undefined)) {
      const form = formOf(mistake);
      if (!rowByForm.has(form)) rowByForm.set(form, `| ${takes} | ${renderMistake(mistake)}\n`);
    }
  }
  return [...rowByForm.values()].join('');
}

/** What two errors that differ only in the value and in the names that they list have in common. */
function formOf({ says, unseen = '' }: Mistake): string {
  const form = says
    .replaceAll(/"[^"]*"/g, '…')
    .replace(/^unknown .*/, 'unknown')
    .replace(/(of the keys) .*/, '$1');
  return `${form} ${unseen}`;
}

function renderMistake({ write, says, unseen }: Mistake): string {
  return `\`${write}\` | \`${says}\` |${unseen === undefined ? '' : ` ${unseen}`} |`;
}

/** A line for each reason, without the errors of the tables above. */
function renderUnseen(levels: readonly Level[]): string {
  const above = levels.flatMap(({ entries }) => entries.flatMap(([, field]) => mistakesOf(field))).map(({ says }) => says);
  const errorsByReason = new Map<string, string[]>();
  for (const { says, why } of UNSEEN_FAULTS) {
    const [start = '', ...rest] = says.split('…');
    const isShown = above.some((error) => error.startsWith(start) && rest.every((part) => error.includes(part)));
    if (!isShown) errorsByReason.set(why, [...(errorsByReason.get(why) ?? []), `\`${says}\``]);
  }
  return Array.from(errorsByReason, ([why, errors]) => `- ${why}: ${errors.join(' · ')}\n`).join('');
}

/** The mistakes of the type and the field's own, in the form of the latter. */
export function mistakesOf({ name, type, mistakes = [] }: Field): readonly Mistake[] {
  return [...type.mistakes.map((mistake) => ({ ...mistake, write: `${name}: ${mistake.write}` })), ...mistakes];
}
