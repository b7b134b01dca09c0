/** The names that configurations, programs and other versions use, each read from the file that other tests hold to the code. */
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import ts from 'typescript';
import { parse } from 'yaml';
import { LIBRARY_PACKAGES } from '../../build/library-packages.mjs';
import { parseJson } from '../../process/parse-json.mjs';

/** By kind, sorted. @typedef {Readonly<Record<string, readonly string[]>>} Names */

/**
 * @param {string} root
 * @returns {Names}
 */
export function stableNames(root) {
  /** @param {string} name */
  const read = (name) => readFileSync(join(root, name), 'utf8');
  const kinds = {
    setting: cellsOf(read('docs/settings.md').split('\n## Settings of envoyproxy')[0] ?? '', /`([A-Z][A-Z\d_]+)`/g),
    'YAML field': yamlFields(read('docs/generated/weir.schema.json')),
    metric: metrics(read('docs/metrics.md')),
    'log code': cellsOf(read('docs/logs.md'), /^`([a-z_]+)`$/g),
    'route of the admin API': cellsOf(read('docs/admin-api.md'), /^`((?:GET|PUT|POST|DELETE) [^`]+)`$/g),
    'field of the admin API': operations(read('src/administration/admin-client/operations.ts')),
    'route or field of the HTTP port': httpNames(read('docs/generated/openapi.json')),
    'message of weir.v1': messagesOf(read('proto/weir/v1/reservation.proto')),
    'command, flag or exit code': commands(read('docs/cli.md')),
    'export of a package': exportsOf(read),
    'value of the chart': valuesOf(parse(read('deploy/helm/weir/values.yaml'))),
    'key in Redis': cellsOf(between(read('docs/redis.md'), '\n## Keys\n', '\n## '), /^`([^`]+)`$/g),
  };
  return Object.fromEntries(Object.entries(kinds).map(([kind, names]) => [kind, [...new Set(names)].toSorted()]));
}

/**
 * What the first cells of the tables name.
 *
 * @param {string} page
 * @param {RegExp} pattern
 */
function cellsOf(page, pattern) {
  const cells = page.split('\n').flatMap((line) => (line.startsWith('| ') ? [line.slice(2).split(' | ')[0] ?? ''] : []));
  return cells.flatMap((cell) => Array.from(cell.matchAll(pattern), ([, name = '']) => name));
}

/**
 * @param {string} text
 * @param {string} start
 * @param {string} end
 */
function between(text, start, end) {
  return text.split(start)[1]?.split(end)[0] ?? '';
}

/** @typedef {{ readonly properties?: Readonly<Record<string, Schema>>, readonly $defs?: Readonly<Record<string, Schema>>, readonly anyOf?: readonly Schema[], readonly items?: Schema, readonly enum?: readonly unknown[] }} Schema */

/**
 * `rate_limit.unit`, and `rate_limit.unit: day` for a value of a list.
 *
 * @param {string} text
 */
function yamlFields(text) {
  const schema = /** @type {Schema} */ (parseJson(text));
  return Object.entries({ file: schema, ...schema.$defs }).flatMap(([level, { properties = {} }]) =>
    Object.entries(properties).flatMap(([field, each]) => [
      `${level}.${field}`,
      ...wordsOf(each).map((word) => `${level}.${field}: ${String(word)}`),
    ]),
  );
}

/**
 * @param {Schema} schema
 * @returns {readonly unknown[]}
 */
function wordsOf({ enum: words = [], anyOf = [], items }) {
  return [...words, ...anyOf.flatMap(wordsOf), ...(items === undefined ? [] : wordsOf(items))];
}

/** @param {string} page */
function metrics(page) {
  return cellsOf(page, /^`([a-z_]+(?:\{[^`]*\})?)`$/g).flatMap((text) => {
    const [, name = '', labels = ''] = /^(\w+)(?:\{(.*)\})?$/.exec(text) ?? [];
    return [
      name,
      ...labels
        .split(/, ?/)
        .filter(Boolean)
        .map((label) => `${name}{${label}}`),
    ];
  });
}

/**
 * `getTenant.reply.plan`.
 *
 * @param {string} text
 */
function operations(text) {
  return membersOf(text, 'Operations').map((name) => name.slice('Operations.'.length));
}

/** @param {string} text */
function httpNames(text) {
  const { paths, components } =
    /** @type {{ paths: Readonly<Record<string, object>>, components: { schemas: Readonly<Record<string, Schema>> } }} */ (parseJson(text));
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const fields = Object.entries(components.schemas).flatMap(([name, { properties = {} }]) =>
    Object.keys(properties).map((field) => `${name}.${field}`),
  );
  return [...routes, ...fields];
}

/**
 * With the numbers of the fields, which are what is sent.
 *
 * @param {string} proto
 */
function messagesOf(proto) {
  const methods = Array.from(proto.matchAll(/^ {2}rpc (\w+)/gm), ([, name = '']) => name);
  const blocks = Array.from(proto.matchAll(/^(?:message|enum) (\w+) \{([\s\S]*?)^\}/gm));
  const fields = blocks.flatMap(([, name = '', body = '']) =>
    Array.from(body.matchAll(/(\w+) = (\d+)/g), ([, field = '', number = '']) => `${name}.${field} = ${number}`),
  );
  return [...methods, ...fields];
}

/**
 * `weir check --strict`; `weir diff 10` is an exit code.
 *
 * @param {string} page
 */
function commands(page) {
  return page
    .replace('# Command line', 'weir')
    .split(/^## /m)
    .filter((section) => section.startsWith('weir'))
    .flatMap((section) => {
      const command = section.split('\n')[0] ?? '';
      const flags = cellsOf(section, /`(--[a-z][\w-]*)/g);
      const [, codes = ''] = /^Exit codes?:? (.*)$/m.exec(section) ?? [];
      const numbers = Array.from(codes.matchAll(/(?:^|[,;] )(\d+) /g), ([, code = '']) => code);
      return [command, ...[...flags, ...numbers].map((each) => `${command} ${each}`)];
    });
}

/**
 * `client createClient`, and the members of the types that its declarations name. The owner of a registry chooses the scope.
 *
 * @param {(name: string) => string} read
 */
function exportsOf(read) {
  return Object.values(LIBRARY_PACKAGES).flatMap(({ name, exports }) =>
    Object.entries(exports).flatMap(([path, source]) => {
      const entry = `src/${source}.ts`;
      const files = [entry, ...reexportedBy(read(entry)).map((from) => `${posix.join(posix.dirname(entry), from)}.ts`)];
      const exported = new Set(exportedBy(read(entry)));
      const members = files.flatMap((file) => membersOf(read(file))).filter((member) => exported.has(member.split('.')[0] ?? ''));
      const library = posix.join(name.slice(name.indexOf('/') + 1), path);
      return [...exported, ...members].map((each) => `${library} ${each}`);
    }),
  );
}

/** @param {string} text */
function reexportedBy(text) {
  return Array.from(text.matchAll(/^\} from '(\.[^']+)';|^export (?:type )?\{[^}\n]*\} from '(\.[^']+)';/gm), ([, a, b]) => a ?? b ?? '');
}

/**
 * @param {string} text
 * @returns {readonly string[]}
 */
function exportedBy(text) {
  const lists = Array.from(text.matchAll(/^export (?:type )?\{([^}]*)\}/gm), ([, list = '']) => list.split(',')).flat();
  const named = lists.map((each) => each.replace(/\btype\b/, '').trim()).filter(Boolean);
  const declared = Array.from(text.matchAll(/^export (?:async )?(?:function|class|const|interface|type) (\w+)/gm), ([, name = '']) => name);
  return [...named, ...declared];
}

/**
 * The members of the interfaces and types that a file exports, and those of the types that it declares for them: `Client.ask`,
 * `Operations.getTenant.reply.plan`. `only` is the one type to take.
 *
 * @param {string} text
 * @param {string} [only]
 */
function membersOf(text, only) {
  /** @type {Map<string, ts.InterfaceDeclaration | ts.TypeAliasDeclaration>} */
  const types = new Map();
  for (const node of ts.createSourceFile('types.ts', text, ts.ScriptTarget.ES2023, true).statements)
    if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) types.set(node.name.text, node);
  return [...types].flatMap(([name, node]) => {
    const isExported = node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
    return only === undefined ? (isExported ? membersBelow(node, name) : []) : name === only ? membersBelow(node, name, types) : [];
  });
}

/**
 * @param {ts.Node} node
 * @param {string} place
 * @param {ReadonlyMap<string, ts.Node>} [types] the types whose members count where they are named
 * @returns {readonly string[]}
 */
function membersBelow(node, place, types = new Map()) {
  const isMember = (ts.isPropertySignature(node) || ts.isMethodSignature(node)) && !ts.isComputedPropertyName(node.name);
  const here = isMember ? `${place}.${node.name.getText()}` : place;
  const named = ts.isTypeReferenceNode(node) ? node.typeName : ts.isExpressionWithTypeArguments(node) ? node.expression : undefined;
  const declared = named === undefined ? undefined : types.get(named.getText());
  /** @type {string[]} */
  const names = isMember ? [here] : [];
  if (declared !== undefined) names.push(...membersBelow(declared, here, types));
  ts.forEachChild(node, (child) => {
    names.push(...membersBelow(child, here, types));
  });
  return names;
}

/**
 * `redis.url`: the paths of the values, down to those without values below them.
 *
 * @param {unknown} value
 * @param {string} [place]
 * @returns {readonly string[]}
 */
function valuesOf(value, place = '') {
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;
  if (!isMap) return [place];
  return Object.entries(value).flatMap(([key, each]) => valuesOf(each, place === '' ? key : `${place}.${key}`));
}
