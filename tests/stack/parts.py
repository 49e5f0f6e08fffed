"""All of docs/deploy/ on this machine: its own files, with other places and free ports in them, and what they start."""

from __future__ import annotations

import os
import shlex
import shutil
import ssl
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psycopg2

from tests.browsers import install
from tests.processes import ROOT, free_port
from tests.torture.database import Postgres, kill_whole

DEPLOY = ROOT / "docs/deploy"
PROGRAM = ("manage.py", "rexvqa_site", "annotation", "readerstudy", "static", "templates")
NEEDED = ("PATH", "HOME", "LANG")  # of the environment: a unit has no more either
WRAPPED = """
daemon off; worker_processes 1; pid {home}/nginx.pid; error_log {home}/nginx-start.log crit; {user}
events {{ worker_connections 8192; }}
http {{
    include /etc/nginx/mime.types;
    client_body_temp_path {home}/body; proxy_temp_path {home}/proxy; fastcgi_temp_path {home}/fastcgi;
    uwsgi_temp_path {home}/uwsgi; scgi_temp_path {home}/scgi;
    include {home}/etc/nginx.conf;
}}
"""
QUEUES = {"jobs": "images imports analysis models", "waiting": "mail sweeps"}
PATIENCE = 90.0


def program(package: str, name: str) -> str:
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") or install(package, "", (name,))
    if not found:
        raise FileNotFoundError(f"apt-get install {package}")
    return found


@dataclass
class Part:
    """One service: how it is started, and how long the system waits before it starts it again."""

    command: list[str]
    env: dict[str, str]
    folder: Path
    pause: float = 1.0
    until: list[str] = field(default_factory=list)  # a command that ends when it answers
    process: subprocess.Popen[bytes] | None = None
    ended_at: float | None = None
    is_wanted: bool = True


def unit(text: str) -> dict[str, list[str]]:
    """What a unit of systemd says, by word; several lines of one word are several values."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if "=" in line and not line.startswith(("#", "[")):
            word, value = line.split("=", 1)
            found.setdefault(word, []).append(value)
    return found


def assigned(text: str) -> dict[str, str]:
    """A file of variables, as systemd and the shell read it."""
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return {name: value.strip('"') for name, value in pairs}


class Stack:
    """Started whole; ``keep`` starts again what ends, as systemd does. ``is_pooled``: web servers ask pgbouncer."""

    def __init__(self, home: Path, *, is_pooled: bool = False) -> None:
        self.home, self.database, self.is_pooled = home, Postgres(), is_pooled
        names = ("https", "http", "web 1", "web 2", "redis", "pgbouncer")
        self.ports = {name: free_port() for name in names}
        self.url = f"https://127.0.0.1:{self.ports['https']}"
        for folder in ("etc", "state", "backups", "log"):
            (home / folder).mkdir(mode=0o700)
        self.release = home / "current"
        self.release.symlink_to(ROOT)
        self.parts: dict[str, Part] = {}
        self.lock, self.stopping = threading.RLock(), threading.Event()
        self.keeper = threading.Thread(target=self._keep, daemon=True)
        self._certify()
        self.site_env = assigned(self.text("site.env"))

    def text(self, name: str) -> str:
        """A file of docs/deploy with the places and ports of this run."""
        text = (
            (DEPLOY / name)
            .read_text()
            .replace("    listen [::]:80;\n", "")
            .replace("    listen [::]:443 ssl http2;\n", "")
        )
        for said, meant in {
            "https://rexvqa.example.org": self.url,
            "/etc/letsencrypt/live/rexvqa.example.org/": f"{self.home}/etc/",
            "rexvqa.example.org": "127.0.0.1",
            "postgres://rexvqa:CHANGE-ME@127.0.0.1:5432/rexvqa": self.database.url,
            "host=127.0.0.1 port=5432 dbname=rexvqa": f"host=127.0.0.1 port={self.database.port} dbname=torture",
            "listen_port = 6432": f"listen_port = {self.ports['pgbouncer']}",
            "scram-sha-256": "trust",
            "/etc/pgbouncer": str(self.database.home),  # whose owner may read it
            "127.0.0.1:6379": f"127.0.0.1:{self.ports['redis']}",
            "127.0.0.1:8001": f"127.0.0.1:{self.ports['web 1']}",
            "127.0.0.1:8002": f"127.0.0.1:{self.ports['web 2']}",
            "listen 80;": f"listen 127.0.0.1:{self.ports['http']};",
            "listen 443 ": f"listen 127.0.0.1:{self.ports['https']} ",
            "/opt/rexvqa/current/.venv/bin/python": sys.executable,
            "/opt/rexvqa/current": str(self.release),
            "/etc/rexvqa": f"{self.home}/etc",
            "=/var/lib/rexvqa/cache/python": "=",  # in a new home all of the program would be compiled again
            "/var/lib/rexvqa": f"{self.home}/state",
            "/var/backups/rexvqa": f"{self.home}/backups",
            "/var/log/rexvqa": f"{self.home}/log",
            "runuser -u rexvqa -- .venv/bin/python": sys.executable,
        }.items():
            text = text.replace(said, meant)
        return text

    # --- what is started ------------------------------------------------------------------------
    def start(self) -> None:
        redis = [program("redis-server", "redis-server"), "--port", str(self.ports["redis"]), "--bind", "127.0.0.1"]
        self.begin("Redis", Part([*redis, "--save", "", "--dir", str(self.home)], self._plain(), self.home))
        (self.home / "etc/site.env").write_text(self.text("site.env"))
        self.manage("migrate", "--verbosity", "0")
        if self.is_pooled:
            self._pool()
        for number in ("1", "2"):
            self.begin(f"web {number}", self._unit("rexvqa-web@.service", str(self.ports[f"web {number}"])))
            for name, queues in QUEUES.items():
                (self.home / f"etc/worker-{name}-{number}.env").write_text(f'QUEUES="{queues}"\n')
                self.begin(f"worker {name} {number}", self._unit("rexvqa-worker@.service", f"{name}-{number}"))
        (self.home / "etc/nginx.conf").write_text(self.text("nginx.conf"))
        whole = WRAPPED.format(home=self.home, user="user root;" if os.geteuid() == 0 else "")
        (self.home / "etc/whole.conf").write_text(whole)
        nginx = [program("nginx-light", "nginx"), "-c", str(self.home / "etc/whole.conf")]
        self.begin("nginx", Part(nginx, self._plain(), self.home))
        self.keeper.start()
        self.wait_for_health()

    def _pool(self) -> None:
        """Web servers alone ask pgbouncer: the file /etc/rexvqa/rexvqa-web.env of docs/deploy.md."""
        with closing(psycopg2.connect(self.database.url)) as line, line, line.cursor() as cursor:
            cursor.execute("ALTER ROLE torture SET jit = off")
        folder = self.database.home
        (folder / "pgbouncer.ini").write_text(self.text("pgbouncer.ini"))
        (folder / "userlist.txt").write_text('"torture" ""\n')
        pooler = [program("pgbouncer", "pgbouncer"), str(folder / "pgbouncer.ini")]
        if self.database.user:
            pooler = ["setpriv", f"--reuid={self.database.user}", "--clear-groups", *pooler]
        self.begin("pgbouncer", Part(pooler, self._plain(), Path("/")))
        url = f"postgres://torture@127.0.0.1:{self.ports['pgbouncer']}/rexvqa?pool_mode=transaction"
        (self.home / "etc/rexvqa-web.env").write_text(f"DATABASE_URL={url}\n")

    def manage(self, *words: str) -> str:
        """By the script that an administrator calls."""
        command = ["/bin/sh", "-c", self.text("rexvqa"), "rexvqa", *words]
        return subprocess.run(command, env=self._plain(), check=True, stdout=subprocess.PIPE, text=True).stdout

    def _unit(self, name: str, instance: str) -> Part:
        """As systemd has it: what stands in a drop-in comes after the unit, and what comes last counts."""
        common, own = (
            unit(self.text(place).replace("%i", instance).replace("%p", name.partition("@")[0]))
            for place in ("rexvqa-.service.d/common.conf", name)
        )
        env = self._plain()
        for pair in own.get("Environment", []):
            env.update(assigned(pair))
        for place in (*own.get("EnvironmentFile", []), *common["EnvironmentFile"]):
            if (path := Path(place.removeprefix("-"))).exists():
                env.update(assigned(path.read_text()))
        (command,) = own["ExecStart"]
        words = [
            part for word in shlex.split(command) for part in (env[word[1:]].split() if word[0] == "$" else [word])
        ]
        until = shlex.split(own["ExecStartPost"][0]) if "ExecStartPost" in own else []
        return Part(words, env, Path(common["WorkingDirectory"][0]), float(own["RestartSec"][0]), until)

    def _plain(self) -> dict[str, str]:
        return {name: os.environ[name] for name in NEEDED if name in os.environ}

    def begin(self, name: str, part: Part) -> None:
        """``systemctl start``: returns when it answers, where its unit says how to tell."""
        with self.lock:
            part.is_wanted, self.parts[name] = True, part
            self._run(name)
        if part.until:
            subprocess.run(part.until, env=self._plain(), check=True)

    def _run(self, name: str) -> None:
        part = self.parts[name]
        part.ended_at = None
        with (self.home / f"log/{name}.out").open("ab") as log:
            part.process = subprocess.Popen(
                part.command, env=part.env, cwd=part.folder, stdout=log, stderr=log, start_new_session=True
            )

    def _keep(self) -> None:
        while not self.stopping.wait(0.05):
            with self.lock:
                for name, part in self.parts.items():
                    if not part.is_wanted or part.process is None or part.process.poll() is None:
                        continue
                    part.ended_at = part.ended_at or time.monotonic()
                    if time.monotonic() - part.ended_at >= part.pause:
                        self._run(name)

    # --- what happens to it ---------------------------------------------------------------------
    def kill(self, name: str) -> None:
        """-9 to all of it at once; who watches it starts it again. PostgreSQL comes back after its recovery."""
        if name == "PostgreSQL":
            self.database.kill()
            self.database.start()
            return
        process = self.parts[name].process
        assert process is not None
        with self.lock:
            kill_whole(process)

    def end(self, name: str) -> None:
        """``systemctl stop``."""
        with self.lock:
            part = self.parts[name]
            part.is_wanted = False
        assert part.process is not None
        part.process.terminate()
        part.process.wait(timeout=PATIENCE)

    def restart(self, name: str) -> None:
        self.end(name)
        self.begin(name, self.parts[name])

    def upgrade(self) -> None:
        """Another release with another script, one web server after the other, then the workers."""
        new = self.home / "next"
        new.mkdir()
        for name in PROGRAM:
            subprocess.run(["cp", "-r", "--preserve=timestamps", str(ROOT / name), str(new)], check=True)
        with (new / "static/case/strokes.js").open("a") as script:
            script.write("// of the next release\n")
        self.release.unlink()
        self.release.symlink_to(new)
        for name in [name for name in self.parts if name.startswith(("web", "worker"))]:
            self.restart(name)

    def wait_for_health(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with suppress(OSError), urllib.request.urlopen(f"{self.url}/healthz", context=self.trust(), timeout=5):
                return
            time.sleep(0.1)
        raise RuntimeError(f"the site did not come up: {self.said()}")

    def said(self) -> str:
        """The last words of each part."""
        logs = [*sorted(self.home.glob("log/*")), self.home / "nginx-start.log"]
        return "\n".join(f"--- {log.name}\n{log.read_text()[-1500:]}" for log in logs if log.exists())

    def stop(self) -> None:
        self.stopping.set()
        if self.keeper.is_alive():
            self.keeper.join()
        for name, part in self.parts.items():
            if part.process is not None and part.process.poll() is None:
                self.kill(name)
        self.database.stop()

    # --- TLS ------------------------------------------------------------------------------------
    def _certify(self) -> None:
        words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
        files = ["-keyout", f"{self.home}/etc/privkey.pem", "-out", f"{self.home}/etc/fullchain.pem"]
        subprocess.run([program("openssl", "openssl"), *words.split(), *files], check=True, capture_output=True)

    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.home / "etc/fullchain.pem"))
