/** The codec of grpc.reflection, v1 and v1alpha. */

import { FIELDS_MAX } from '../../../domain/descriptor/descriptor-bounds';
import { LENGTH_DELIMITED, WireReader } from './wire-reader';
import { WireWriter } from './wire-writer';

/** The `message_request` of a ServerReflectionRequest. */
export type ReflectionQuestion =
  /** For `extension` and `extensions` the name is that of the extended type. */
  | { readonly kind: 'file' | 'symbol' | 'extension' | 'extensions'; readonly name: string }
  | { readonly kind: 'services' }
  | { readonly kind: 'none' };

export interface ReflectionRequest {
  readonly host: string;
  readonly question: ReflectionQuestion;
}

/** The `message_response` of a ServerReflectionResponse. */
export type ReflectionAnswer =
  | { readonly kind: 'files'; readonly descriptors: readonly Uint8Array[] }
  | { readonly kind: 'services'; readonly names: readonly string[] }
  | { readonly kind: 'error'; readonly code: number; readonly message: string };

/** Tags and field numbers of grpc/reflection/v1/reflection.proto. */
const HOST = len(1);
const FILE_BY_FILENAME = len(3);
const FILE_CONTAINING_SYMBOL = len(4);
const FILE_CONTAINING_EXTENSION = len(5);
const ALL_EXTENSION_NUMBERS_OF_TYPE = len(6);
const LIST_SERVICES = len(7);
const EXTENSION = { containingType: len(1) } as const;
const RESPONSE = { validHost: 1, originalRequest: 2, fileDescriptorResponse: 4, listServicesResponse: 6, errorResponse: 7 } as const;
const FILES = { fileDescriptorProto: 1 } as const;
const SERVICES = { service: 1 } as const;
const SERVICE = { name: 1 } as const;
const ERROR = { code: 1, message: 2 } as const;

/** Shared, because coding is synchronous. */
const reader = new WireReader(FIELDS_MAX);
const writer = new WireWriter();

/**
 * If the request has several questions, the last one counts, as in every `oneof`.
 *
 * @throws MalformedError or TooManyFieldsError
 */
export function decodeReflectionRequest(message: Buffer): ReflectionRequest {
  reader.begin(message.toString('latin1'));
  let host = '';
  let question: ReflectionQuestion = { kind: 'none' };
  while (reader.more()) {
    const tag = reader.tag();
    if (tag === HOST) host = text();
    else if (tag === FILE_BY_FILENAME) question = { kind: 'file', name: text() };
    else if (tag === FILE_CONTAINING_SYMBOL) question = { kind: 'symbol', name: text() };
    else if (tag === FILE_CONTAINING_EXTENSION) question = { kind: 'extension', name: readExtendedType() };
    else if (tag === ALL_EXTENSION_NUMBERS_OF_TYPE) question = { kind: 'extensions', name: text() };
    else if (tag === LIST_SERVICES) {
      reader.text();
      question = { kind: 'services' };
    } else reader.skip(tag);
  }
  return { host, question };
}

export interface ReflectionResponse {
  readonly host: string;
  /** The encoded request. */
  readonly request: Uint8Array;
  readonly answer: ReflectionAnswer;
}

export function encodeReflectionResponse({ host, request, answer }: ReflectionResponse): Buffer {
  writer.reset();
  writer.text(RESPONSE.validHost, host);
  writer.raw(RESPONSE.originalRequest, request);
  if (answer.kind === 'files') {
    const start = writer.begin(RESPONSE.fileDescriptorResponse);
    for (const descriptor of answer.descriptors) writer.raw(FILES.fileDescriptorProto, descriptor);
    writer.end(start);
  } else if (answer.kind === 'services') {
    const start = writer.begin(RESPONSE.listServicesResponse);
    for (const name of answer.names) {
      const service = writer.begin(SERVICES.service);
      writer.text(SERVICE.name, name);
      writer.end(service);
    }
    writer.end(start);
  } else {
    const start = writer.begin(RESPONSE.errorResponse);
    writer.number(ERROR.code, answer.code);
    writer.text(ERROR.message, answer.message);
    writer.end(start);
  }
  return Buffer.from(writer.bytes());
}

function readExtendedType(): string {
  const outer = reader.enter();
  let name = '';
  while (reader.more()) {
    const tag = reader.tag();
    if (tag === EXTENSION.containingType) name = text();
    else reader.skip(tag);
  }
  reader.leave(outer);
  return name;
}

function text(): string {
  return Buffer.from(reader.text(), 'latin1').toString('utf8');
}

function len(field: number): number {
  return (field << 3) | LENGTH_DELIMITED;
}
