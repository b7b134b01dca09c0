/** Gives temporary credentials of AWS to a process, as the agent of a container or pod does: other ones at each request. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface TemporaryCredentials {
  readonly accessKeyId: string;
  readonly secret: string;
  readonly sessionToken: string;
}

export interface AwsCredentialsServer {
  /** What a process needs to find it. */
  readonly env: Readonly<Record<string, string>>;
  readonly given: readonly TemporaryCredentials[];
  /** False: it answers 500. */
  isUp: boolean;
  stop(): Promise<void>;
}

export async function startAwsCredentials({ lifeS }: { readonly lifeS: number }): Promise<AwsCredentialsServer> {
  const given: TemporaryCredentials[] = [];
  const server = createServer((_, response) => {
    if (!agent.isUp) return void response.writeHead(500).end('{}');
    const number = given.length + 1;
    const next = { accessKeyId: `ASIA${number}`, secret: `secret+of/${number}`, sessionToken: `session/${number}==` };
    given.push(next);
    const { accessKeyId: AccessKeyId, secret: SecretAccessKey, sessionToken: Token } = next;
    const Expiration = new Date(Date.now() + lifeS * 1_000).toISOString();
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ AccessKeyId, SecretAccessKey, Token, Expiration }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const agent: AwsCredentialsServer = {
    env: { AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://127.0.0.1:${(server.address() as AddressInfo).port}/credentials` },
    given,
    isUp: true,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return agent;
}
