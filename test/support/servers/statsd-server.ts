/** A server that statsd's clients talk to, over TCP or UDP: it keeps every line that it is told. */
import { createSocket } from 'node:dgram';
import { createServer, type Socket } from 'node:net';
import { until } from '../clock/until';

export interface StatsdServer {
  readonly port: number;
  /** All that was told, in its order. */
  readonly lines: readonly string[];
  /** The sum of the counter's lines. */
  total(name: string): number;
  /** Rejects if it has not been told so much within 10 s. */
  untilTotal(name: string, value: number): Promise<void>;
  /** Ends the connections that are there. */
  close(): Promise<void>;
}

interface StatsdServerOptions {
  readonly protocol: 'tcp' | 'udp';
  readonly port?: number;
  /** Whether it takes connections and then reads nothing. */
  readonly hangs?: boolean;
}

export async function startStatsdServer({ protocol, port = 0, hangs = false }: StatsdServerOptions): Promise<StatsdServer> {
  const lines: string[] = [];
  const started = await (protocol === 'udp' ? listenUdp(port, lines) : listenTcp({ port, lines, hangs }));
  const total = (name: string): number =>
    lines.reduce((sum, line) => sum + (line.startsWith(`${name}:`) ? Number(/:(\d+)\|c/.exec(line)?.[1] ?? 0) : 0), 0);
  return {
    ...started,
    lines,
    total,
    untilTotal: async (name, value) => {
      await until(() => total(name) >= value).catch(() => {
        throw new Error(
          `received ${total(name)} of ${name}, not ${value}:\n${lines
            .filter((line) => line.includes('|c'))
            .slice(-20)
            .join('\n')}`,
        );
      });
    },
  };
}

async function listenUdp(port: number, lines: string[]) {
  const socket = createSocket('udp4');
  socket.on('message', (message) => {
    lines.push(
      ...message
        .toString()
        .split('\n')
        .filter((line) => line !== ''),
    );
  });
  await new Promise<void>((resolve) => {
    socket.bind(port, '127.0.0.1', resolve);
  });
  return {
    port: socket.address().port,
    close: () =>
      new Promise<void>((resolve) => {
        socket.close(() => {
          resolve();
        });
      }),
  };
}

async function listenTcp({ port, lines, hangs }: { readonly port: number; readonly lines: string[]; readonly hangs: boolean }) {
  const open = new Set<Socket>();
  const server = createServer({ pauseOnConnect: hangs }, (socket) => {
    open.add(socket);
    let rest = '';
    socket.on('error', () => undefined);
    if (hangs) return;
    socket.on('data', (chunk) => {
      const parts = (rest + chunk.toString()).split('\n');
      rest = parts.pop() ?? '';
      lines.push(...parts);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(port, '127.0.0.1', resolve);
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close: async () => {
      for (const socket of open) socket.destroy();
      await new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
      });
    },
  };
}
