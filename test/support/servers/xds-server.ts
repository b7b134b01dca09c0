/** A management server for a test, on loopback: it sends what the test says, remembers what it was told, and misbehaves when asked to. */

import path from 'node:path';
import { readFileSync } from 'node:fs';
import { Metadata, Server, ServerCredentials, status, type ServerDuplexStream } from '@grpc/grpc-js';
import { Root, type Type } from 'protobufjs';
import { hangLimitMs } from '../clock/hang-limit';
import { loadXdsProto, RATE_LIMIT_CONFIG_TYPE } from '../../../src/configuration/source/xds/proto';
import type { WireAny, WireDiscoveryRequest, WireDiscoveryResponse, WireRateLimitConfig } from '../../../src/configuration/source/xds/wire';
import type { Pair } from './certificates';
import { freePort } from './ports';

type Stream = ServerDuplexStream<WireDiscoveryRequest, WireDiscoveryResponse>;

export interface XdsServerOptions {
  /** Its certificate, and who may have signed clients': without it, no TLS. */
  readonly tls?: { readonly server: Pair; readonly clientCa: string };
  /** Answers every request whose version is not the one to be had, a refusal too: at once, as go-control-plane does. */
  readonly isEager?: boolean;
  /** Ends every stream as soon as it is there. */
  readonly isFlapping?: boolean;
}

/** What a client has asked or answered. */
export interface Told {
  readonly request: WireDiscoveryRequest;
  readonly headers: Metadata;
  /** From 1, in the order in which streams were opened. */
  readonly stream: number;
}

const WAIT_MS = hangLimitMs(15_000);

const configType = loadConfigType();

function loadConfigType(): Type {
  const root = new Root();
  const directory = path.resolve('proto');
  root.resolvePath = (_origin, target) => path.resolve(directory, target);
  root.loadSync('ratelimit/config/ratelimit/v3/rls_conf.proto', { keepCase: true });
  return root.lookupType('ratelimit.config.ratelimit.v3.RateLimitConfig');
}

/** As a management server packs it; numbers of enums that are no unit are packed too. */
export function packConfig(config: WireRateLimitConfig): WireAny {
  return { type_url: RATE_LIMIT_CONFIG_TYPE, value: configType.encode(configType.fromObject(config)).finish() };
}

export class XdsServer {
  readonly told: Told[] = [];
  isFlapping: boolean;
  private readonly streams = new Set<Stream>();
  private server: Server | undefined;
  private streamCount = 0;
  private nonceCount = 0;
  private version = '';
  private resources: readonly WireAny[] | undefined;

  private constructor(
    readonly port: number,
    private readonly options: XdsServerOptions,
  ) {
    this.isFlapping = options.isFlapping ?? false;
  }

  static async start(options: XdsServerOptions = {}): Promise<XdsServer> {
    const server = new XdsServer(await freePort(), options);
    await server.comeBack();
    return server;
  }

  get openStreams(): number {
    return this.streams.size;
  }

  /** Streams since the start. */
  get streamsSeen(): number {
    return this.streamCount;
  }

  /** On the same port, after it has died. */
  async comeBack(): Promise<void> {
    const { tls } = this.options;
    const server = new Server();
    const { stream } = loadXdsProto();
    server.addService(
      { StreamAggregatedResources: stream },
      {
        StreamAggregatedResources: (call: Stream) => {
          this.serve(call);
        },
      },
    );
    const pair = tls && { cert_chain: readFileSync(tls.server.cert), private_key: readFileSync(tls.server.key) };
    const credentials =
      tls && pair ? ServerCredentials.createSsl(readFileSync(tls.clientCa), [pair], true) : ServerCredentials.createInsecure();
    await new Promise<void>((resolve, reject) => {
      server.bindAsync(`127.0.0.1:${this.port}`, credentials, (error) => {
        if (error === null) resolve();
        else reject(error);
      });
    });
    this.server = server;
  }

  /** Without a word to anybody. */
  die(): void {
    this.server?.forceShutdown();
    this.server = undefined;
    this.streams.clear();
  }

  stop(): void {
    this.die();
  }

  /** To everybody, and to whoever comes later: these are all that there are. Resolves to the nonce. */
  send(version: string, configs: readonly WireRateLimitConfig[]): string {
    return this.sendPacked(version, configs.map(packConfig));
  }

  sendPacked(version: string, resources: readonly WireAny[]): string {
    this.version = version;
    this.resources = resources;
    this.nonceCount += 1;
    for (const stream of this.streams) this.write(stream);
    return this.nonce;
  }

  /** With OK, or with an error. */
  endStreams(code: status = status.OK, details = 'the test says so'): void {
    for (const stream of this.streams) end(stream, code, details);
  }

  /** The first answer to what was sent with that nonce: an ACK, or a NACK if it has an error_detail. */
  async answerTo(nonce: string): Promise<WireDiscoveryRequest> {
    return (await this.next(({ request }) => request.response_nonce === nonce)).request;
  }

  /** What was told first that is so; waits for it. */
  async next(isIt: (told: Told) => boolean): Promise<Told> {
    const deadline = Date.now() + WAIT_MS;
    while (Date.now() < deadline) {
      const found = this.told.find(isIt);
      if (found !== undefined) return found;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    throw new Error(
      `the management server was not told what the test waits for within ${WAIT_MS} ms, but: ${JSON.stringify(this.told.map(({ request }) => request))}`,
    );
  }

  private get nonce(): string {
    return `nonce-${this.nonceCount}`;
  }

  private serve(stream: Stream): void {
    this.streamCount += 1;
    const number = this.streamCount;
    stream.on('error', () => undefined);
    stream.on('end', () => stream.end());
    stream.on('close', () => this.streams.delete(stream));
    stream.on('cancelled', () => this.streams.delete(stream));
    let isFirst = true;
    stream.on('data', (request: WireDiscoveryRequest) => {
      this.told.push({ request, headers: stream.metadata, stream: number });
      const wants = (request.version_info ?? '') !== this.version && this.resources !== undefined;
      if (wants && !isFirst && this.options.isEager === true) this.nonceCount += 1;
      if (wants && (isFirst || this.options.isEager === true)) this.write(stream);
      isFirst = false;
    });
    if (this.isFlapping) end(stream, status.OK, '');
    else this.streams.add(stream);
  }

  private write(stream: Stream): void {
    stream.write({ version_info: this.version, resources: this.resources ?? [], type_url: RATE_LIMIT_CONFIG_TYPE, nonce: this.nonce });
  }
}

function end(stream: Stream, code: status, details: string): void {
  if (code === status.OK) stream.end();
  else stream.emit('error', { code, details, metadata: new Metadata() });
}
