/** The descriptors that reflection hands out: those of protobufjs, put right so that other languages accept them. */

import * as path from 'node:path';
import { common, MapField, Namespace, Root, Type, type ReflectionObject } from 'protobufjs';
import {
  FileDescriptorProto,
  type IDescriptorProto,
  type IEnumDescriptorProto,
  type IFieldDescriptorProto,
  type IFileDescriptorProto,
  type IServiceDescriptorProto,
} from 'protobufjs/ext/descriptor';

interface ProtoFile {
  readonly name: string;
  readonly package: string;
  readonly syntax: 'proto3';
  readonly dependency: string[];
  readonly messageType: IDescriptorProto[];
  readonly enumType: IEnumDescriptorProto[];
  readonly service: IServiceDescriptorProto[];
}

/**
 * One encoded FileDescriptorProto for each .proto file of the root, which must be resolved.
 *
 * protobufjs writes one file per package, without imports, with relative type names, `packed = false` on every
 * field, and map entries named `Fields` where they must be `FieldsEntry`; Go refuses such a map as invalid.
 */
export function fileDescriptors(root: Root, protoDir: string): Buffer[] {
  const fileNames = new FileNames(root, protoDir);
  const files = new Map<string, ProtoFile>();
  for (const merged of root.toDescriptor('proto3').file) {
    for (const file of splitByFile(merged, { root, fileNames })) files.set(file.name, file);
  }
  return [...files.values()].map((file) => Buffer.from(FileDescriptorProto.encode(FileDescriptorProto.create(file)).finish()));
}

interface SplitContext {
  readonly root: Root;
  readonly fileNames: FileNames;
}

function splitByFile(merged: IFileDescriptorProto, { root, fileNames }: SplitContext): Iterable<ProtoFile> {
  const packageName = merged.package ?? '';
  const files = new Map<string, ProtoFile>();
  const fileOf = (name: string | undefined): { file: ProtoFile; object: ReflectionObject } => {
    const object = lookup(root, `${packageName}.${name ?? ''}`);
    const fileName = fileNames.of(object);
    const file = files.get(fileName) ?? emptyFile(fileName, packageName);
    files.set(fileName, file);
    return { file, object };
  };
  for (const message of merged.messageType ?? []) {
    const { file, object } = fileOf(message.name);
    if (object instanceof Type) repairMessage(message, object);
    file.messageType.push(message);
    addDependencies(file, { typeNames: typeNamesOf(message), root, fileNames });
  }
  for (const enumType of merged.enumType ?? []) fileOf(enumType.name).file.enumType.push(enumType);
  for (const service of merged.service ?? []) {
    const { file } = fileOf(service.name);
    file.service.push(service);
    const typeNames = (service.method ?? []).flatMap(({ inputType = '', outputType = '' }) => [inputType, outputType]);
    addDependencies(file, { typeNames, root, fileNames });
  }
  return files.values();
}

function emptyFile(name: string, packageName: string): ProtoFile {
  return { name, package: packageName, syntax: 'proto3', dependency: [], messageType: [], enumType: [], service: [] };
}

function addDependencies(file: ProtoFile, { typeNames, root, fileNames }: SplitContext & { typeNames: string[] }): void {
  for (const typeName of typeNames) {
    const needed = fileNames.of(lookup(root, typeName));
    if (needed !== file.name && !file.dependency.includes(needed)) file.dependency.push(needed);
  }
}

function lookup(root: Root, fullName: string): ReflectionObject {
  const object = root.lookup(fullName.startsWith('.') ? fullName : `.${fullName}`);
  if (object === null) throw new Error(`proto/ has no ${fullName}`);
  return object;
}

/** Full type names, field and map entry names as protoc has them, no options that were not written. */
function repairMessage(message: IDescriptorProto, type: Type): void {
  for (const descriptor of message.field ?? []) {
    delete descriptor.options;
    const field = type.fields[descriptor.name ?? '']?.resolve();
    if (field === undefined) continue;
    descriptor.name = snakeCase(field.name);
    // As protoc writes it: without it, Go's JSON would take the field under its snake_case name alone.
    descriptor.jsonName = camelCase(descriptor.name);
    if (field instanceof MapField) repairMapEntry({ descriptor, message, field, typeName: type.fullName });
    else if (field.resolvedType !== null) descriptor.typeName = field.resolvedType.fullName;
  }
  for (const nested of message.nestedType ?? []) {
    const nestedType = type.nested?.[nested.name ?? ''];
    if (nestedType instanceof Type) repairMessage(nested, nestedType);
  }
}

function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase());
}

/** protobufjs bundles Google's types with camelCase fields; ours are in snake_case already. */
function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

interface MapEntryRepair {
  readonly descriptor: IFieldDescriptorProto;
  readonly message: IDescriptorProto;
  readonly field: MapField;
  readonly typeName: string;
}

function repairMapEntry({ descriptor, message, field, typeName }: MapEntryRepair): void {
  const entry = message.nestedType?.find(({ name, options }) => name === descriptor.typeName && options?.mapEntry === true);
  if (entry === undefined) throw new Error(`the descriptor of ${typeName}.${field.name} has no map entry`);
  entry.name = `${camelCase(`_${field.name}`)}Entry`;
  descriptor.typeName = `${typeName}.${entry.name}`;
  const value = entry.field?.find(({ name }) => name === 'value');
  if (value !== undefined && field.resolvedType !== null) value.typeName = field.resolvedType.fullName;
}

function typeNamesOf(message: IDescriptorProto): string[] {
  const ofFields = (message.field ?? []).flatMap(({ typeName = '' }) => (typeName === '' ? [] : [typeName]));
  const nested = message.nestedType ?? [];
  const own = new Set(nested.filter(({ options }) => options?.mapEntry).map(({ name = '' }) => name));
  const others = ofFields.filter((typeName) => !own.has(typeName.slice(typeName.lastIndexOf('.') + 1)));
  return [...others, ...nested.flatMap(typeNamesOf)];
}

function namespaceOf(root: Root, name: string): ReflectionObject[] {
  const namespace = root.lookup(name);
  return namespace instanceof Namespace ? namespace.nestedArray : [];
}

/** Which file, as importers name it, an object was read from. */
class FileNames {
  /** Google's own types are part of protobufjs, which forgets their files. */
  private readonly bundled = new Map<string, string>();

  constructor(
    root: Root,
    private readonly protoDir: string,
  ) {
    for (const file of root.files) {
      const bundled = common.get(file);
      if (bundled === null) continue;
      for (const object of namespaceOf(Root.fromJSON(bundled), 'google.protobuf')) this.bundled.set(object.fullName, file);
    }
  }

  of(object: ReflectionObject): string {
    let topLevel = object;
    while (topLevel.parent instanceof Type) topLevel = topLevel.parent;
    const name = this.bundled.get(topLevel.fullName);
    if (name !== undefined) return name;
    if (topLevel.filename === null) throw new Error(`${topLevel.fullName} is of no file`);
    return path.relative(this.protoDir, topLevel.filename).split(path.sep).join('/');
  }
}
