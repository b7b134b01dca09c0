/** One table makes the page, the JSON Schema and the checks of each YAML field, and its examples are valid. */

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { createSourceFile, forEachChild, isStringLiteralLike, ScriptTarget, type Node } from 'typescript';
import { isMap, parse, parseDocument } from 'yaml';
import { examineConfig } from '../../../src/configuration/compile/compile';
import type { Field, Level, Mistake } from '../../../src/configuration/compile/field-types/field';
import { LEVELS } from '../../../src/configuration/compile/fields/levels';
import { mistakesOf, renderConfigurationDoc } from '../../../scripts/generate/docs/configuration-doc';
import { renderJsonSchema } from '../../../src/configuration/compile/schema/json-schema';
import { unwrapConfigMap } from '../../../src/configuration/source/files/config-map';
import { fencedBlocks } from '../../support/docs/markdown';
import { expectSchemaAgrees, isUnseen, mistakesOfLevel, schemaAccepts, schemaErrors } from '../../support/config/schema-agreement';

const REGENERATE = 'node scripts/generate/docs.mjs';

const FIELDS = LEVELS.flatMap((level) => level.entries.map(([property, field]) => ({ level, property, field })));

/** The compiler's errors, without their places. */
function errorsOf(text: string): string[] {
  const files = [{ name: 'f.yaml', text }];
  const { list } = examineConfig({ files, defaultAlgorithm: 'token_bucket', generation: 1 });
  return list.found().kept.map(({ message }) => message);
}

/** A file whose map at the level has these fields, and what else it needs. */
function fileWith({ inFile, least, fields }: Level, written: string): string {
  const document = parseDocument(`{ ${written} }`);
  if (!isMap(document.contents)) throw new Error(`${written} is not a map`);
  const ofLists = document.has('rate_limits') ? ['rate_limit'] : document.has('json') ? ['text'] : [];
  const excludes = document.get('unlimited') === true ? Object.values(fields).map(({ name }) => name) : ofLists;
  const rest = Object.entries(least).filter(([name]) => !document.has(name) && !excludes.includes(name));
  return inFile(`{ ${[...rest.map(([name, value]) => `${name}: ${value}`), written].join(', ')} }`);
}

function mistakesOfAll(
  of: (level: Level) => readonly Mistake[],
): { readonly level: Level; readonly mistake: Mistake; readonly title: string }[] {
  return LEVELS.flatMap((level) => of(level).map((mistake) => ({ level, mistake, title: `${level.name}: ${mistake.write}` })));
}

describe('The table of fields', () => {
  test('docs/configuration.md and docs/generated/weir.schema.json are what it makes', () => {
    for (const [file, text] of [
      ['docs/configuration.md', renderConfigurationDoc()],
      ['docs/generated/weir.schema.json', renderJsonSchema()],
    ] as const) {
      if (readFileSync(file, 'utf8') !== text) throw new Error(`${file} is out of date; run ${REGENERATE}`);
    }
  });

  test.each(FIELDS.map((each) => ({ ...each, title: `${each.level.name}.${each.field.name}` })))(
    '$title: its property follows from its name, and its default is stated once',
    ({ property, field: { name, default: value, unset, required } }) => {
      const camelCase = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
      // Units are last: hold has the property holdS.
      expect([camelCase, `${camelCase}S`]).toContain(property);
      expect([value, unset, required].filter((each) => each !== undefined)).toHaveLength(1);
    },
  );

  test.each(FIELDS.map((each) => ({ ...each, title: `${each.level.name}.${each.field.name}` })))(
    '$title: its example and its default are good',
    ({ level, field }) => {
      const values = [field.example, ...(field.default === undefined ? [] : [field.default])];
      const beside = field.beside === undefined ? '' : `, ${field.beside}`;
      for (const value of values) {
        const text = fileWith(level, `${field.name}: ${value}${beside}`);
        expect(errorsOf(text)).toEqual([]);
        if (schemaAccepts(text) !== true) throw new Error(`the schema refuses ${text}: ${schemaErrors()}`);
      }
    },
  );

  test.each(mistakesOfAll(mistakesOfLevel))(
    '$title gives the error of the table, and the schema finds it or cannot',
    ({ level, mistake }) => {
      const { write, says, unseen } = mistake;
      const text = fileWith(level, write);
      expect(errorsOf(text)).toEqual([says]);
      expect(schemaAccepts(text)).toBe(unseen !== undefined);
    },
  );

  test('every type is tried with a mistake', () => {
    expect(FIELDS.filter(({ field }: { field: Field }) => mistakesOf(field).length === 0)).toEqual([]);
  });
});

describe('The JSON Schema', () => {
  test.each(LEVELS.map((level) => ({ level, name: level.name })))('refuses an unknown key in $name, and text in its place', ({ level }) => {
    const text = fileWith(level, 'friends: 5');
    expect(errorsOf(text)).toEqual([expect.stringContaining('unknown key')]);
    expect(schemaAccepts(text)).toBe(false);
    expect(schemaAccepts(level.inFile('[5]'))).toBe(false);
  });

  test('accepts each configuration of deploy/ and of the pages', () => {
    const all = [...deployedConfigs(), ...documentedConfigs()].map(({ place, text }) => ({ place, text, errors: errorsOf(text) }));
    const good = all.filter(({ errors }) => errors.length === 0);
    expect(good.length).toBeGreaterThan(15);
    for (const { place, text } of good) {
      if (schemaAccepts(text) !== true) throw new Error(`the schema refuses ${place}: ${schemaErrors()}\n${text}`);
    }
    // A configuration of envoyproxy/ratelimit with a misplaced key.
    const [bad, ...others] = all.filter(({ errors }) => errors.length > 0);
    expect(others).toEqual([]);
    expect(bad?.place).toBe('docs/migrating.md');
    expect(schemaAccepts(bad?.text ?? '')).toBe(false);
  });

  test('agrees with the compiler on each configuration in the tests and benchmarks', () => {
    const written = writtenConfigs();
    expect(written.length).toBeGreaterThan(100);
    for (const text of written) expectSchemaAgrees(text, errorsOf(text));
  });

  test('finds what is not listed as unseen', () => {
    expect(isUnseen('unknown unit "secnod"; did you mean second?')).toBe(false);
    expect(() => {
      expectSchemaAgrees('domain: d\n', ['is a fault that no list has']);
    }).toThrow('the schema accepts a bad file');
    expect(() => {
      expectSchemaAgrees('domain: d\nfriends: 5\n', []);
    }).toThrow('the schema refuses a good file');
  });

  test('says which draft it is, and has a description of each field', () => {
    const schema = parse(renderJsonSchema()) as {
      $schema: string;
      $defs: Record<string, { properties: Record<string, { description?: string }> }>;
    };
    expect(schema.$schema).toBe('https://json-schema.org/draft/2020-12/schema');
    for (const { properties } of Object.values(schema.$defs)) {
      expect(Object.values(properties).filter(({ description = '' }) => !description.includes('.'))).toEqual([]);
    }
  });
});

interface Config {
  readonly place: string;
  readonly text: string;
}

function filesBelow(folder: string, ending: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => path.join(folder, name));
}

/** Files of limits, and those in ConfigMaps. */
function deployedConfigs(): Config[] {
  return [...filesBelow('deploy', '.yaml'), 'bench/limits.yaml', 'test/envoy/chain/limits.yaml'].flatMap((file) => {
    const text = readFileSync(file, 'utf8');
    // The mapping of a log has a domain too.
    if (/^format:/m.test(text)) return [];
    if (/^domain:/m.test(text)) return [{ place: file, text }];
    return unwrapConfigMap({ name: file, text }).map(({ document }) => ({ place: file, text: document.text }));
  });
}

function documentedConfigs(): Config[] {
  return [...filesBelow('docs', '.md'), ...filesBelow('deploy', '.md'), 'README.md'].flatMap((file) =>
    fencedBlocks(file, 'yaml')
      .filter((text) => /^domain:/m.test(text))
      .map((text) => ({ place: file, text })),
  );
}

/** Texts in the code that begin like a configuration. */
function writtenConfigs(): readonly string[] {
  const texts = new Set<string>();
  for (const file of ['test', 'bench'].flatMap((folder) => filesBelow(folder, '.ts'))) {
    const code = readFileSync(file, 'utf8');
    if (!code.includes('domain:')) continue;
    const visit = (node: Node): void => {
      if (isStringLiteralLike(node) && /^\s*domain:/.test(node.text)) texts.add(node.text);
      forEachChild(node, visit);
    };
    visit(createSourceFile(file, code, ScriptTarget.ES2022));
  }
  return [...texts];
}
