# `make` lists the targets.

export RUSTDOCFLAGS = -Dwarnings
BUILT = $(or $(CARGO_TARGET_DIR),target)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## stream a clip through both daemons on this machine; print a table of quality and latency
	@.ci/setup demo
	cargo build --release --locked -p duet-sender -p duet-receiver --bins --example demo
	$(BUILT)/release/examples/demo

# What `make install` and the packages take: BUILD=release, or debug for a trial; TARGET=aarch64-unknown-linux-gnu for another processor.
BUILD = release
TARGET =
PROGRAMS_BUILT = $(BUILT)/$(if $(TARGET),$(TARGET)/)$(BUILD)
MANUAL = $(BUILT)/manual
CROSS = $(if $(TARGET),.ci/cross $(TARGET))

.PHONY: build
build: ## build the programs, their manual pages and completions (BUILD=release, TARGET=aarch64-unknown-linux-gnu)
	@.ci/setup demo
	$(CROSS) cargo build --locked $(if $(filter release,$(BUILD)),--release) -p duet-sender -p duet-receiver -p duet-room -p duet-film -p duet-wavelet --bins
	$(CROSS) sh -c 'for program in duet sender receiver latency-film wavelet; do $$EMULATOR $(PROGRAMS_BUILT)/$$program --write-manual $(MANUAL) || exit; done'

.PHONY: install
install: ## install what `make build` has made, with units, configuration and desktop entry (PREFIX=/usr/local, DESTDIR=, SYMBOLS=)
	PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" SYMBOLS="$(SYMBOLS)" config/package/install $(PROGRAMS_BUILT) $(MANUAL)

.PHONY: deb
deb: ## make a Debian package, and one of the symbols, in target/deb (TARGET=aarch64-unknown-linux-gnu)
	@$(MAKE) --no-print-directory build
	config/package/deb $(PROGRAMS_BUILT) $(MANUAL) $(BUILT)/deb

.PHONY: archive
archive: ## make an archive that works wherever it is unpacked, in target/archive
	@$(MAKE) --no-print-directory build
	config/package/archive $(PROGRAMS_BUILT) $(MANUAL) $(BUILT)/archive

.PHONY: rpm
rpm: ## make an RPM package in target/rpm (cargo-generate-rpm)
	@$(MAKE) --no-print-directory build
	config/package/rpm $(PROGRAMS_BUILT) $(MANUAL) $(BUILT)/rpm

.PHONY: deb-check
deb-check: ## two homes in containers under systemd, from the package to a call as README.md tells, and services; a transcript (root, mmdebstrap, systemd-nspawn; minutes)
	@$(MAKE) --no-print-directory deb
	config/package/check $(BUILT)/deb/duet_*.deb

# Tests that wait for programs leave the processor to the rest. Checks come last: they keep the build from others.
.PHONY: test
test: ## everything that continuous integration checks
	@.ci/setup test
	@.ci/skipped begin
	cargo fmt --all --check
	cargo build --locked --workspace --bins --example stun --example nodes
	cargo test --locked --workspace --tests --no-run
	@.ci/beside 'PART=waiting $(MAKE) --no-print-directory run-tests' 'PART=computing $(MAKE) --no-print-directory run-tests && $(MAKE) --no-print-directory checks'
	@.ci/skipped end

.PHONY: checks
checks: ## what `make test` checks without running a program
	cargo clippy --locked --workspace --all-targets -- -Dwarnings
	cargo clippy --locked --workspace --lib --bins --no-default-features -- -Dwarnings
	cargo clippy --locked -p duet-showing -p duet-sender -p duet-receiver --lib --bins --no-default-features --features opencl -- -Dwarnings
	cargo doc --locked --workspace --no-deps
	.ci/deny
	.ci/check-units $(BUILT)/debug
	cargo test --locked --workspace --doc

.PHONY: run-tests
run-tests: ## run the tests, all or those of one PART (waiting, computing)
	PROPTEST_RNG_SEED=1 cargo test --locked --workspace --tests --config "target.'cfg(all())'.runner = '$(CURDIR)/.ci/part'"

# `make test` draws the same input each time, so that it fails for a change and for nothing else.
.PHONY: properties
properties: ## the tests of properties, each time with other input (RUNS=20)
	for run in $$(seq $(or $(RUNS),20)); do \
		seed=$$(od -An -N4 -tu4 /dev/urandom | tr -d ' '); echo "PROPTEST_RNG_SEED=$$seed"; \
		PROPTEST_RNG_SEED=$$seed cargo test --release --locked -q -p duet-common -p duet-picture -p duet-net -p duet-shell \
			-p duet-kernels -p duet-sending --lib --test wire --test bytes --test geometry --test budget --test loss || exit; \
	done

.PHONY: seeds
seeds: ## stream over 10000 simulated bad networks (SEEDS=0..10000) and check that no promise is broken
	SEEDS=$(or $(SEEDS),0..10000) cargo test --release --locked -p duet-common --test seeds -- --nocapture

.PHONY: sound-seeds
sound-seeds: ## the sound that is heard over 4000 bad lines between cards that miss their time (SEEDS=0..4000), in virtual time
	SEEDS=$(or $(SEEDS),0..4000) cargo test --release --locked -p duet-sound --test playout seeds:: -- --nocapture

.PHONY: sound-hours
sound-hours: ## 24 hours of sound between two cards 200 ppm apart, at 64, 128 and 256 samples, in virtual time (HOURS=24)
	HOURS=$(or $(HOURS),24) cargo test --release --locked -p duet-sound --test playout hours:: -- --nocapture

.PHONY: reach
reach: ## two homes behind routers of all kinds meet and call each other; tables (root; REACH="pairs opens", REPEATS=2 JOBS=1 SEED=1 LATE=10)
	@.ci/setup reach
	cargo build --release --locked -p duet-sender -p duet-receiver -p duet-faults -p duet-nodes --bins --example stun --example nodes
	MAILBOX=$$(.ci/mailbox) REPEATS=$(REPEATS) JOBS=$(JOBS) SEED=$(SEED) LATE=$(LATE) \
		common/laboratory/faults/reach $(BUILT)/release $(REACH)

.PHONY: reach-seeds
reach-seeds: ## two machines find each other through 20000 simulated pairs of homes (SEEDS=0..20000); calls change their ways
	SEEDS=$(or $(SEEDS),0..20000) cargo test --release --locked -p duet-common --test reach -- --nocapture
	SEEDS=$(or $(SEEDS),0..2000) cargo test --release --locked -p duet-common --test steering -- --nocapture

.PHONY: dht-seeds
dht-seeds: ## two machines whose addresses change at once find each other in a DHT of 50 nodes with hostile ones; ms (SEEDS=100 JOBS=processors)
	SEEDS=$(or $(SEEDS),100) $(if $(JOBS),JOBS=$(JOBS)) cargo test --release --locked -p duet-net --lib many_seeds -- --ignored --nocapture

.PHONY: hostile-hours
hostile-hours: ## 24 hours of hostile peers of all kinds in turn before both sessions, in virtual time (HOURS=24, SEED=1)
	HOURS=$(or $(HOURS),24) SEED=$(or $(SEED),1) cargo test --release --locked -p duet-common --test hostile -- --nocapture

.PHONY: protection
protection: ## table of what parity is worth against random and bursty loss
	cargo run --release --locked -p duet-common --example protection

.PHONY: home-lines
home-lines: ## table of the rate on lines and computers of homes, in virtual time (SEEDS=10 TRACES=FOLDER of mahimahi recordings)
	cargo run --release --locked -p duet-common --example home_lines

.PHONY: beside
beside: ## table of a sound program and our picture on one line, in virtual time (SEEDS=5 ROW=20)
	cargo run --release --locked -p duet-common --example beside

.PHONY: prediction
prediction: ## pictures and delay with prediction and without, over the same simulated lines; a table (FRAMES=240 RATE=3000000 SEED=1)
	cargo run --release --locked -p duet-receiver --example prediction

.PHONY: states
states: ## an hour of predicted frames with losses: are all ends' pictures the same (CLIP=FILE.y4m FRAMES=72000 SENDER=cpu RECEIVERS=cpu,opencl SEED=1)
	cargo run --release --locked -p duet-sending --example states -- $(or $(CLIP),$(error CLIP=FILE.y4m is missing)) \
		--frames $(or $(FRAMES),72000) --sender $(or $(SENDER),cpu) $(if $(RECEIVERS),--receivers $(RECEIVERS)) --seed $(or $(SEED),1)

.PHONY: agreement
agreement: ## the codec on every OpenCL implementation here against the processor, Intel's from PyPI included; a table
	@.ci/setup agreement
	.ci/agreement

.PHONY: agreement-arm
agreement-arm: ## the codec for ARM64 in an emulator: golden files, and its vector code against plain Rust
	.ci/cross aarch64-unknown-linux-gnu cargo test --locked -p duet-kernels --no-default-features --features lossless --lib --test bitstream --test cpu_agreement --test lossless --test prediction

# Memory is kept for the next input: giving back to the system what a link test takes, and asking for it again, costs more than its parser.
.PHONY: fuzz
fuzz: ## feed changed and random bytes to the decoders and to all parsers for 10 minutes each (SECONDS=600, SEED=1)
	cargo run --release --locked -p duet-kernels --example fuzz -- $(or $(SECONDS),600) $(or $(SEED),1)
	cargo run --release --locked -p duet-lab --example fuzz_pcwt -- $(or $(SECONDS),600) $(or $(SEED),1)
	cargo run --release --locked -p duet-lab --example fuzz_jpeg2000 -- $(or $(SECONDS),600) $(or $(SEED),1)
	MALLOC_TOP_PAD_=16777216 cargo run --release --locked -p duet-faults --example fuzz_parsers -- $(or $(SECONDS),600) $(or $(SEED),1)

.PHONY: fuzz-guided
fuzz-guided: ## bytes that reach new code of decoders and parsers, 10 minutes each (SECONDS=600; cargo-fuzz, a nightly toolchain)
	cd kernels && for profile in quad pcwt predicted; do \
		mkdir -p fuzz/corpus/$$profile && cargo +nightly fuzz run $$profile fuzz/corpus/$$profile golden -- \
			-max_total_time=$(or $(SECONDS),600) || exit; \
	done
	cd common/laboratory/faults && for parser in $$(ls corpus); do \
		mkdir -p fuzz/corpus/$$parser && PARSER=$$parser cargo +nightly fuzz run parsers fuzz/corpus/$$parser corpus/$$parser -- \
			-max_total_time=$(or $(SECONDS),600) || exit; \
	done

.PHONY: bench
bench: ## time the transform and the coder on the device that would be used; tables and plots in bench-results/
	@.ci/setup demo
	cargo build --release --locked -p duet-wavelet
	$(BUILT)/release/wavelet bench all --seconds 1

.PHONY: bench-device
bench-device: ## the same for the first OpenCL device, with the program as it is: builds and downloads nothing
	$(BUILT)/release/wavelet bench all --backend opencl --seconds 0.5

.PHONY: bench-rivals
bench-rivals: ## time the processor transform against PyWavelets, OpenJPEG and OpenJPH, and the coder on PICTURES against OpenJPH
	@.ci/setup demo
	kernels/lab/benches/rivals/run.py
	@if [ -n "$(PICTURES)" ]; then kernels/lab/benches/rivals/codec.py $(PICTURES); fi

.PHONY: bench-stills
bench-stills: ## JPEG 2000 beside OpenJPEG and OpenJPH, subbands beside PyWavelets, and who reads the files made of PICTURES
	@.ci/setup demo
	cargo build --release --locked -p duet-wavelet
	$(BUILT)/release/wavelet bench jpeg2000 --beside opj_compress,ojph_compress $(if $(PICTURES),--picture $(PICTURES))
	kernels/lab/benches/rivals/subbands.py --wavelet $(BUILT)/release/wavelet
	@if [ -n "$(PICTURES)" ]; then kernels/lab/benches/rivals/readers.py --wavelet $(BUILT)/release/wavelet $(PICTURES); fi

.PHONY: bench-lossless
bench-lossless: ## bytes and times without loss, both profiles, against JPEG XR (libjxr-tools) on PICTURES
	@.ci/setup demo
	cargo build --release --locked -p duet-wavelet
	kernels/lab/benches/rivals/jpegxr.py --wavelet $(BUILT)/release/wavelet $(PICTURES)

.PHONY: deny
deny: ## check licences, sources and security advisories of all dependencies
	.ci/deny

.PHONY: sbom
sbom: ## list the crates in each program as CycloneDX in target/sbom (builds cargo-cyclonedx)
	.ci/sbom

.PHONY: miri
miri: ## run the tests of what parses bytes and text in Miri (a nightly toolchain with Miri; about ten minutes)
	@cargo +nightly miri --version >/dev/null 2>&1 || { \
		echo "make miri: there is no Miri here: rustup toolchain install nightly --component miri" >&2; exit 1; }
	MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=4 cargo +nightly miri test --locked -p duet-common -p duet-picture --lib -- \
		wire:: container:: packetise:: y4m:: config::

.PHONY: camera-check
camera-check: ## stream from a kernel test camera to a virtual one in a virtual machine, pull it out and stall it (downloads a kernel; CYCLES=4)
	@.ci/setup camera
	cargo build --release --locked -p duet-sender -p duet-receiver --bins
	sender/tests/vm/camera $(BUILT) $(or $(CYCLES),4)

.PHONY: card-check
card-check: ## a call's sound through ALSA in a virtual machine: cards pulled out and put back, another rate (downloads a kernel; CYCLES=4)
	@.ci/setup card
	cargo build --release --locked -p duet-sender -p duet-receiver --bins
	sender/tests/vm/card $(BUILT) $(or $(CYCLES),4)

.PHONY: faults
faults: ## both daemons through scenarios of a bad network; a table (FAULTS="T1 T4 --seconds 600 --control")
	@.ci/setup faults
	cargo build --release --locked -p duet-sender -p duet-receiver -p duet-faults --bins
	$(PRIORITY) $(BUILT)/release/faults $(FAULTS)

.PHONY: attacks
attacks: ## what an attacker reaches with both daemons; a table (ATTACKS="weak-key pings", PROGRAMS=FOLDER of another build)
	@.ci/setup faults
	cargo build --release --locked -p duet-sender -p duet-receiver -p duet-faults --bins
	$(BUILT)/release/faults attacks $(ATTACKS) $(if $(PROGRAMS),--programs $(PROGRAMS))

.PHONY: siege
siege: ## all kinds of hostile peers in turn beside a running call; a table (SECONDS=3600, SEED=1, PROGRAMS=FOLDER)
	@.ci/setup faults
	cargo build --release --locked -p duet-sender -p duet-receiver -p duet-faults --bins
	$(REAL_TIME) $(BUILT)/release/faults siege --seconds $(or $(SECONDS),3600) --seed $(or $(SEED),1) \
		$(if $(PROGRAMS),--programs $(PROGRAMS))

.PHONY: rival
rival: ## Duet beside Chromium's WebRTC over the same lines; a table (RIVAL="clean change", CLIP=y4m:FILE, SECONDS=30, SEED=1)
	@.ci/setup faults
	cargo build --release --locked -p duet-sender -p duet-receiver -p duet-faults --bins
	$(BUILT)/release/faults rival $(RIVAL) --seconds $(or $(SECONDS),30) --seed $(or $(SEED),1) \
		$(if $(CLIP),--clip $(CLIP)) $(if $(CHROMIUM),--chromium $(CHROMIUM)) $(if $(CODEC),--codec $(CODEC)) \
		$(if $(TRACES),--traces $(TRACES))

.PHONY: rival-sound
rival-sound: ## Duet's sound beside JackTrip's and others', or BESIDE="5 20" Mbit/s JackTrip beside the picture; tables (SHORT=1, RIVAL="table quiet --period 64", RIVAL="drift --seconds 1200", RIVAL=incidents, RIVAL=step, JACKTRIP=PATHS, PROGRAMS=FOLDERS, SECONDS=30, SEED=1)
	@.ci/setup sound
	cargo build --release --locked -p duet-sender -p duet-receiver -p duet-rival-sound --bins
	$(BUILT)/release/rival-sound $(if $(BESIDE),beside $(BESIDE),$(or $(RIVAL),table) $(if $(SHORT),--short)) \
		$(if $(SECONDS),--seconds $(SECONDS)) $(if $(SEED),--seed $(SEED)) $(JACKTRIP:%=--jacktrip %) $(PROGRAMS:%=--duet %)

.PHONY: audience
audience: ## an audience through a real relay in Chromium: join, picture, sound, flash against click, relay killed, a narrow line, 1 to 200 watchers; lines of JSON, a screenshot (RELAY=PROGRAM, PARTS="browser killed foreign all narrow cost" or PARTS="doors join revoked": links, tokens, two relays, SECONDS=30, WATCHERS="1 20 100 200")
	@.ci/setup audience
	$(if $(SECONDS),SECONDS=$(SECONDS)) $(if $(WATCHERS),WATCHERS="$(WATCHERS)") $(if $(RELAY),RELAY=$(RELAY)) common/laboratory/audience/trial $(BUILT) $(PARTS)

.PHONY: concealment
concealment: ## Duet's concealment beside JackTrip's method on eight signals and RECORDED="files"; and what a receiving side of sound costs; tables
	cargo build --release --locked -p duet-rival-sound --example concealment --example cost
	$(BUILT)/release/examples/concealment $(or $(RECORDED),$(wildcard /usr/share/sounds/alsa/Front_Center.wav))
	$(if $(REAL_TIME),chrt --fifo 1) $(BUILT)/release/examples/cost

.PHONY: wild
wild: ## play all pictures and films of a folder through both daemons and compare with ffmpeg's reading; a table (FOLDER=FOLDER PICTURES=10; ffmpeg)
	@.ci/setup wild
	cargo build --release --locked -p duet-sender -p duet-receiver --bins
	PICTURES=$(or $(PICTURES),10) common/laboratory/faults/wild $(BUILT)/release $(or $(FOLDER),$(error FOLDER=FOLDER is missing))

.PHONY: soak
soak: ## a call with 1 % loss and a random fault each minute (SECONDS=7200, SEED=1): nothing grows, every gap has its fault
	@$(MAKE) --no-print-directory faults FAULTS="soak --seconds $(or $(SECONDS),7200) --seed $(or $(SEED),1)" \
		PRIORITY="$(REAL_TIME)"

.PHONY: rehearsal
rehearsal: ## a call of HOURS=8 through outages, restarts, stalled cameras and other sizes, one a minute: does memory grow (CYCLE_MS=60000 FPS=30 SEED=1)
	@.ci/setup faults
	cargo build --release --locked -p duet-sender -p duet-receiver -p duet-faults --bins
	$(BUILT)/release/faults rehearsal --seconds $$(awk 'BEGIN { print int(3600 * $(or $(HOURS),8)) }') --cycle $(or $(CYCLE_MS),60000) \
		--fps $(or $(FPS),30) --seed $(or $(SEED),1)

.PHONY: room-hours
room-hours: ## a day of calls between two windows, as fast as they go, while cameras and a sound card come and go: does memory grow (CALLS=144)
	@.ci/setup test
	CALLS=$(or $(CALLS),144) cargo test --release --locked -p duet-room --test window a_day_of_calls -- --ignored --nocapture

.PHONY: faults-night
faults-night: ## all fault tests, long: eight hours, one table (LENGTH=600 seconds a scenario, NIGHT="siege soak" for parts)
	@.ci/setup faults
	cargo build --release --locked -p duet-sender -p duet-receiver -p duet-faults --bins
	SEED=$(or $(SEED),1) PRIORITY="$(REAL_TIME)" common/laboratory/faults/night $(BUILT)/release/faults $(NIGHT)

# As the services in config/systemd run, if this user may.
REAL_TIME = $(shell chrt --rr 1 true 2>/dev/null && echo chrt --rr 1)

.PHONY: latency
latency: ## capture to present of 720p60, and of sound from callback to callback, on this machine, in real time if allowed (REAL_TIME= for not)
	@$(MAKE) --no-print-directory faults FAULTS="L1 --seconds 20" PRIORITY="$(REAL_TIME)"
	@.ci/setup latency
	cargo build --release --locked -p duet-sender -p duet-receiver -p duet-rival-sound --bins
	$(BUILT)/release/rival-sound table loopback --programs alone,duet --period 64,128 --seconds 20

.PHONY: throughput
throughput: ## 200 Mbit/s of video on the loopback, likewise, and the processor time of both network threads
	@$(MAKE) --no-print-directory faults FAULTS="L2 --seconds 20" PRIORITY="$(REAL_TIME)"
