/** Server reflection, v1 and v1alpha: describes the services and messages to clients without .proto files. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../../lib/package-root';
import {
  decodeReflectionRequest,
  encodeReflectionResponse,
  type ReflectionAnswer,
  type ReflectionQuestion,
} from '../messages/reflection-codec';
import { SMALL_MESSAGE_BYTES_MAX, UNREADABLE, type AnswerStream, type RequestReader, type StreamMethod } from './grpc-method';
import { status } from './grpc-status';

/** The path is right from src/ and from dist/. `scripts/generate/descriptors.mjs` writes the file. */
const DESCRIPTORS_FILE = path.join(PACKAGE_ROOT, 'proto', 'descriptors.json');

/** Both versions have the same messages. */
const PATHS = [
  '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
  '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo',
];

/** Reads proto/descriptors.json synchronously; call it only at the start. */
export function reflectionMethods(): StreamMethod[] {
  const described = new DescribedFiles(JSON.parse(readFileSync(DESCRIPTORS_FILE, 'utf8')) as DescriptorsFile);
  return PATHS.map((methodPath) => ({
    kind: 'stream',
    requests: 'many',
    path: methodPath,
    bytesMax: SMALL_MESSAGE_BYTES_MAX,
    open: (answers) => openStream(described, answers),
  }));
}

function openStream(described: DescribedFiles, answers: AnswerStream): RequestReader {
  return {
    onMessage: (message) => {
      const response = respond(described, message);
      if (response === undefined) answers.end(UNREADABLE);
      else answers.write(response);
    },
    onEnd: () => {
      answers.end();
    },
    onClose: () => undefined,
  };
}

/** Undefined: the message is invalid. */
function respond(described: DescribedFiles, message: Buffer): Buffer | undefined {
  try {
    const { host, question } = decodeReflectionRequest(message);
    return encodeReflectionResponse({ host, request: message, answer: described.answer(question) });
  } catch {
    return undefined;
  }
}

/** proto/descriptors.json: the .proto files of the services, and their imports. */
interface DescriptorsFile {
  readonly files: readonly {
    /** The name by which other files import it. */
    readonly name: string;
    /** All direct and indirect imports. */
    readonly imports: readonly string[];
    /** Full names, as in `symbols`. */
    readonly services: readonly string[];
    readonly symbols: readonly string[];
    /** An encoded FileDescriptorProto in Base64. */
    readonly descriptor: string;
  }[];
}

class DescribedFiles {
  private readonly services: readonly string[];
  /** By file name, and by the name of each symbol: the descriptors of the file and its imports. */
  private readonly byFile = new Map<string, readonly Uint8Array[]>();
  private readonly bySymbol = new Map<string, readonly Uint8Array[]>();

  constructor({ files }: DescriptorsFile) {
    this.services = files.flatMap(({ services }) => services).sort();
    const descriptors = new Map(files.map(({ name, descriptor }) => [name, Buffer.from(descriptor, 'base64')]));
    for (const { name, imports, symbols } of files) {
      const needed = [name, ...imports].flatMap((each) => descriptors.get(each) ?? []);
      this.byFile.set(name, needed);
      for (const symbol of symbols) this.bySymbol.set(symbol, needed);
    }
  }

  answer(question: ReflectionQuestion): ReflectionAnswer {
    switch (question.kind) {
      case 'services':
        return { kind: 'services', names: this.services };
      case 'file':
        return filesOr(this.byFile.get(question.name), `Proto file not found: ${question.name}`);
      case 'symbol':
        return filesOr(this.bySymbol.get(question.name), `Symbol not found: ${question.name}`);
      // No message in proto/ has extensions.
      case 'extension':
      case 'extensions':
        return filesOr(undefined, `Extensions not found for symbol ${question.name}`);
      case 'none':
        return { kind: 'error', code: status.UNIMPLEMENTED, message: 'the request has no known field; set one field of message_request' };
    }
  }
}

function filesOr(descriptors: readonly Uint8Array[] | undefined, message: string): ReflectionAnswer {
  return descriptors === undefined ? { kind: 'error', code: status.NOT_FOUND, message } : { kind: 'files', descriptors };
}
