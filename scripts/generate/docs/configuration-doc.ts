/** Writes `docs/configuration.md` from the table of fields. */

import type { Field, Level, Mistake } from '../../../src/configuration/compile/field-types/field';
import { LEVELS } from '../../../src/configuration/compile/fields/levels';
import { UNSEEN_FAULTS } from './unseen-faults';

const HEAD = `# Configuration

Every field of a configuration file. The page is generated from \`src/configuration/compile/fields\` by \`node scripts/generate/docs.mjs\`.

- A file is a YAML map with one domain. Weir reads a file, a directory, or resources over xDS ([reload.md](reload.md), [envoy-gateway.md](envoy-gateway.md)).
- An error rejects the whole configuration, and the last good one stays in force. Errors name file, line, column and field. An unknown key is an error, and Weir suggests the nearest known one.
- A field without a value (\`~\`) counts as absent. \`yes\`, \`no\`, \`on\` and \`off\` are booleans, too. Names of values are case-insensitive.
- \`weir check FILE\` shows all errors and warnings ([cli.md](cli.md#weir-check)); warnings are about fields without effect and probable mistakes.
- Fields of [envoyproxy/ratelimit](https://github.com/envoyproxy/ratelimit) mean the same as there; [differences.md](differences.md) lists exceptions.

## In an editor

[weir.schema.json](weir.schema.json) is the same table as a JSON Schema (draft 2020-12); \`weir schema\` prints it. Editors with the YAML language server check and complete a file that begins with:

    # yaml-language-server: $schema=weir.schema.json

The value is a path or a URL. The schema finds wrong names, types and ranges. It cannot find everything: the column *schema* says why, and so does the [last section](#what-the-schema-does-not-find).
\`weir check\` finds all errors.
`;

const FIELDS_HEAD = '| Field | Takes | Default | Meaning | From |\n|---|---|---|---|---|\n';

const MISTAKES_HEAD = '| Example | Mistake | Error | Schema |\n|---|---|---|---|\n';

const VALUES_HEAD = `## Values

More mistakes in values, for every field that takes such a value.

| Takes | Mistake | Error | Schema |
|---|---|---|---|
`;

const UNSEEN_HEAD = `## What the schema does not find

Beside the mistakes above. \`…\` stands for variable parts.

| Error | Why |
|---|---|
`;

/** The whole page, ending with a newline. */
export function renderConfigurationDoc(levels: readonly Level[] = LEVELS): string {
  const unseen = UNSEEN_FAULTS.map(({ says, why }) => `| \`${says}\` | ${why} |\n`).join('');
  return [HEAD, ...levels.map(renderLevel), `${VALUES_HEAD}${renderValues(levels)}`, `${UNSEEN_HEAD}${unseen}`].join('\n');
}

function renderLevel({ name, meaning, entries, ignored }: Level): string {
  const fields = entries.map(([, field]) => field);
  const withoutEffect = Object.entries(ignored).map(([key, why]) => `\`${key}\` ${why}.\n\n`);
  const rows = fields.map(renderField).join('');
  const mistakes = fields.map(renderMistakes).join('');
  return `## ${name}\n\n${meaning}\n\n${FIELDS_HEAD}${rows}\n${withoutEffect.join('')}${MISTAKES_HEAD}${mistakes}`;
}

function renderField({ name, type, required, unset, default: value, meaning, of }: Field): string {
  const absent = required !== undefined ? 'required' : value !== undefined ? `\`${value}\`` : (unset ?? '');
  return `| \`${name}\` | ${type.accepts} | ${absent} | ${meaning} | ${of} |\n`;
}

/** A row for each mistake, the first one with the example. Further mistakes of the type have a section of their own. */
function renderMistakes(field: Field): string {
  return mistakesOf({ ...field, type: { ...field.type, mistakes: field.type.mistakes.slice(0, 1) } })
    .map(({ write, says, unseen }, index) => {
      const example = index === 0 ? `\`${field.name}: ${field.example}\`` : '';
      return `| ${example} | \`${write}\` | \`${says}\` | ${foundBySchema(unseen)} |\n`;
    })
    .join('');
}

/** The further mistakes of types, each once. */
function renderValues(levels: readonly Level[]): string {
  const rows = levels
    .flatMap(({ entries }) => entries)
    .flatMap(([, { type }]) =>
      type.mistakes
        .slice(1)
        .map(
          ({ write, says, unseen }) =>
            `| ${type.accepts.replace(/from \d+ to \d+/, '')} | \`${write}\` | \`${says}\` | ${foundBySchema(unseen)} |\n`,
        ),
    );
  return [...new Set(rows)].join('');
}

function foundBySchema(unseen: string | undefined): string {
  return unseen ?? 'finds it';
}

/** The mistakes of the type and the field's own, in the form of the latter. */
export function mistakesOf({ name, type, mistakes = [] }: Field): readonly Mistake[] {
  return [...type.mistakes.map((mistake) => ({ ...mistake, write: `${name}: ${mistake.write}` })), ...mistakes];
}
