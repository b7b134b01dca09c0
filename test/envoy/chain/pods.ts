/** Pods of Weir behind a headless service: each has an address of its own, and the name of the service has those that are ready. */
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import type { DnsServer } from '../../support/servers/dns-server';

export interface Pod {
  readonly address: string;
  readonly weir: WeirProcess;
}

export interface PodsOptions {
  readonly dns: DnsServer;
  /** The gRPC port of every pod. */
  readonly grpcPort: number;
  readonly config: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Of this machine, and of no other test. */
const NETWORK = '127.50.0';

export class Pods {
  private readonly running: Pod[] = [];
  private started = 0;

  constructor(private readonly options: PodsOptions) {}

  get ready(): readonly Pod[] {
    return this.running;
  }

  /** A pod has another address than the one that it replaces. The name has it as soon as it is ready. */
  async start(): Promise<Pod> {
    const { grpcPort, config, env } = this.options;
    this.started += 1;
    const address = `${NETWORK}.${this.started}`;
    const weir = await startWeir({ config, host: address, env: { ...env, GRPC_PORT: String(grpcPort) } });
    const pod = { address, weir };
    this.running.push(pod);
    this.publish();
    return pod;
  }

  /** As the kubelet does: the pod leaves the name and gets SIGTERM at the same moment. Resolves to its exit code. */
  async stopOldest(): Promise<number | null> {
    const pod = this.leave();
    return pod.weir.stop();
  }

  /** A crash: the name still has the pod until somebody notices, which `forget` is. */
  async crashOldest(): Promise<{ readonly forget: () => void }> {
    const [pod] = this.running as [Pod];
    pod.weir.kill('SIGKILL');
    await pod.weir.stop();
    return {
      forget: () => {
        this.leave();
      },
    };
  }

  async stopAll(): Promise<void> {
    await Promise.all(this.running.map(({ weir }) => weir.stop()));
  }

  private leave(): Pod {
    const pod = this.running.shift()!;
    this.publish();
    return pod;
  }

  private publish(): void {
    this.options.dns.set(this.running.map(({ address }) => address));
  }
}
