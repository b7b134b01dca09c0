/** Writes proto/descriptors.json for server reflection: each file as buf compiles it, its imports, and the names that it declares. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '../process/parse-json.mjs';
import { ROOT, isMain } from '../process/repository.mjs';

const BUF = join(ROOT, 'node_modules', '.bin', 'buf');

/**
 * The types of buf's JSON that are read.
 *
 * @typedef {{ name: string }} Named
 * @typedef {{ name: string, value?: Named[] }} Enum
 * @typedef {{ name: string, field?: Named[], oneofDecl?: Named[], nestedType?: Message[], enumType?: Enum[] }} Message
 * @typedef {{ name: string, method?: Named[] }} Service
 * @typedef {{ name: string, package: string, dependency?: string[], messageType?: Message[], enumType?: Enum[], service?: Service[] }} ProtoFile
 */

/** The files with services of the gRPC port. proto/ also has services of other servers, which Weir calls. */
const SERVICE_FILES = [
  'envoy/service/ratelimit/v3/rls.proto',
  'grpc/health/v1/health.proto',
  'grpc/reflection/v1/reflection.proto',
  'grpc/reflection/v1alpha/reflection.proto',
  'kuadrant/service/ratelimit/v1/ratelimit.proto',
  'weir/v1/reservation.proto',
];

export const DESCRIPTORS_FILE = join(ROOT, 'proto', 'descriptors.json');

/** The text of proto/descriptors.json. */
export function renderDescriptors() {
  const set = /** @type {{ file: ProtoFile[] }} */ (parseJson(compile('json').toString('utf8')));
  const encoded = encodedFilesOf(compile('binpb'));
  const files = set.file.map((file, index) => ({
    name: file.name,
    // With the imports of its imports: a client gets everything it needs at once.
    imports: importsOf(file, set.file),
    services: (file.service ?? []).map(({ name }) => `${file.package}.${name}`),
    symbols: symbolsOf(file),
    descriptor: encoded[index]?.toString('base64'),
  }));
  return `${JSON.stringify({ files }, undefined, 1)}\n`;
}

/** @param {'json' | 'binpb'} format */
function compile(format) {
  const paths = SERVICE_FILES.flatMap((file) => ['--path', join('proto', file)]);
  return execFileSync(BUF, ['build', 'proto', '--exclude-source-info', '--as-file-descriptor-set', ...paths, '-o', `-#format=${format}`], {
    cwd: ROOT,
  });
}

/**
 * The files of an encoded FileDescriptorSet, which has no other field.
 *
 * @param {Buffer} set
 */
function encodedFilesOf(set) {
  /** @type {Buffer[]} */
  const files = [];
  let at = 0;
  while (at < set.length) {
    // The tag is one byte, followed by the length as a varint.
    at += 1;
    let length = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = set.readUInt8(at);
      at += 1;
      length |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    files.push(set.subarray(at, at + length));
    at += length;
  }
  return files;
}

/**
 * @param {ProtoFile} file
 * @param {readonly ProtoFile[]} files
 */
function importsOf(file, files) {
  /** @type {Set<string>} */
  const found = new Set();
  /** @param {Pick<ProtoFile, 'dependency'>} file */
  const visit = ({ dependency = [] }) => {
    for (const name of dependency) {
      if (found.has(name)) continue;
      found.add(name);
      const imported = files.find((each) => each.name === name);
      if (imported !== undefined) visit(imported);
    }
  };
  visit(file);
  return [...found];
}

/**
 * The full names of everything that a file declares.
 *
 * @param {ProtoFile} file
 */
function symbolsOf({ package: packageName, messageType = [], enumType = [], service = [] }) {
  return [
    ...messageType.flatMap((message) => namesOfMessage(packageName, message)),
    ...enumType.flatMap((each) => namesOfEnum(packageName, each)),
    ...service.flatMap(({ name, method = [] }) => [
      `${packageName}.${name}`,
      ...method.map((each) => `${packageName}.${name}.${each.name}`),
    ]),
  ];
}

/**
 * @param {string} scope
 * @param {Message} message
 * @returns {string[]}
 */
function namesOfMessage(scope, { name, field = [], oneofDecl = [], nestedType = [], enumType = [] }) {
  const own = `${scope}.${name}`;
  return [
    own,
    ...[...field, ...oneofDecl].map((each) => `${own}.${each.name}`),
    ...nestedType.flatMap((message) => namesOfMessage(own, message)),
    ...enumType.flatMap((each) => namesOfEnum(own, each)),
  ];
}

/**
 * In protobuf the values of an enum are its siblings. Some clients ask for them as children, so both names are listed.
 *
 * @param {string} scope
 * @param {Enum} declared
 */
function namesOfEnum(scope, { name, value = [] }) {
  return [`${scope}.${name}`, ...value.flatMap((each) => [`${scope}.${each.name}`, `${scope}.${name}.${each.name}`])];
}

if (isMain(import.meta.url)) writeFileSync(DESCRIPTORS_FILE, renderDescriptors());
