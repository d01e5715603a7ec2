// Writes a block of Prometheus' storage that holds the series of many scraped targets: a plan in JSON comes on standard
// input, the number of series and samples goes to standard output.
//
// tsdb.BlockWriter holds every series in memory until it writes, which takes 20 GB for five thousand targets. The
// writers of index and chunks beneath it take the series one after the other, in their order: metric by metric.
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"sort"

	"github.com/oklog/ulid"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/index"
)

// chunkSamples is what Prometheus' head puts into a chunk.
const chunkSamples = 120

// Plan says what to write. Times are milliseconds.
type Plan struct {
	Folder    string              `json:"folder"`
	Start     int64               `json:"start"`
	End       int64               `json:"end"`
	Step      int64               `json:"step"`
	Templates map[string][]Series `json:"templates"`
	Targets   []Target            `json:"targets"`
}

// Series is one sample of a real scrape, and how it goes on.
type Series struct {
	Labels map[string]string `json:"labels"`
	Value  float64           `json:"value"`
	// Grows is "activity" for a counter, "clock" for an uptime, and empty for a gauge.
	Grows string `json:"grows"`
	// Rate is a counter's growth a second; of a gauge it is how far it moves up and down.
	Rate float64 `json:"rate"`
}

// Target is a scraped address.
type Target struct {
	Labels   map[string]string `json:"labels"`
	Template string            `json:"template"`
	// Busy multiplies the template's rates.
	Busy float64 `json:"busy"`
	// Age is the number of seconds that its uptime adds to the template's.
	Age float64 `json:"age"`
	// Offset of its scrapes within the step.
	Offset int64 `json:"offset"`

	times    []int64
	activity []float64
}

// prepare makes the times of the scrapes, and the seconds of activity up to each: all counters of a server speed up and
// slow down together, so that no part outgrows its whole.
func (t *Target) prepare(plan *Plan, seed uint64) {
	total := 0.0
	for at := plan.Start + t.Offset; at < plan.End; at += plan.Step {
		seed = next(seed)
		total += t.Busy * float64(plan.Step) / 1000 * (0.5 + unit(seed))
		t.times = append(t.times, at)
		t.activity = append(t.activity, total)
	}
}

func (t *Target) values(s *Series, into []float64) {
	whole := s.Value == math.Trunc(s.Value)
	for i, at := range t.times {
		value := s.Value
		switch {
		case s.Grows == "clock":
			value += math.Trunc(t.Age + float64(at-t.times[0])/1000)
		case s.Grows == "activity":
			value += s.Rate * t.activity[i]
		case s.Rate != 0:
			value += s.Rate * unit(next(uint64(at)^math.Float64bits(t.Age)))
		}
		if whole {
			value = math.Trunc(value)
		}
		into[i] = value
	}
}

// next is splitmix64: the same plan gives the same block.
func next(seed uint64) uint64 {
	seed += 0x9e3779b97f4a7c15
	z := (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

func unit(seed uint64) float64 { return float64(seed>>11) / (1 << 53) }

// placed is a series of a target.
type placed struct {
	labels labels.Labels
	target *Target
	series *Series
}

func (p *Plan) symbols() []string {
	texts := map[string]struct{}{"": {}}
	add := func(labels map[string]string) {
		for name, value := range labels {
			texts[name], texts[value] = struct{}{}, struct{}{}
		}
	}
	for _, template := range p.Templates {
		for i := range template {
			add(template[i].Labels)
		}
	}
	for i := range p.Targets {
		add(p.Targets[i].Labels)
	}
	all := make([]string, 0, len(texts))
	for text := range texts {
		all = append(all, text)
	}
	sort.Strings(all)
	return all
}

// byMetric gives the series of each template by name, and all names in order.
func (p *Plan) byMetric() (map[string]map[string][]*Series, []string) {
	series := map[string]map[string][]*Series{}
	for template, all := range p.Templates {
		for i := range all {
			name := all[i].Labels[labels.MetricName]
			if series[name] == nil {
				series[name] = map[string][]*Series{}
			}
			series[name][template] = append(series[name][template], &all[i])
		}
	}
	names := make([]string, 0, len(series))
	for name := range series {
		names = append(names, name)
	}
	sort.Strings(names)
	return series, names
}

func (p *Plan) place(of map[string][]*Series) []placed {
	var all []placed
	for i := range p.Targets {
		target := &p.Targets[i]
		for _, series := range of[target.Template] {
			whole := make(labels.Labels, 0, len(series.Labels)+len(target.Labels))
			for _, part := range []map[string]string{series.Labels, target.Labels} {
				for name, value := range part {
					whole = append(whole, labels.Label{Name: name, Value: value})
				}
			}
			sort.Sort(whole)
			all = append(all, placed{whole, target, series})
		}
	}
	sort.Slice(all, func(i, j int) bool { return labels.Compare(all[i].labels, all[j].labels) < 0 })
	return all
}

func encoded(times []int64, values []float64) ([]chunks.Meta, error) {
	var made []chunks.Meta
	for begin := 0; begin < len(times); begin += chunkSamples {
		end := begin + chunkSamples
		if end > len(times) {
			end = len(times)
		}
		chunk := chunkenc.NewXORChunk()
		appender, err := chunk.Appender()
		if err != nil {
			return nil, err
		}
		for i := begin; i < end; i++ {
			appender.Append(times[i], values[i])
		}
		made = append(made, chunks.Meta{Chunk: chunk, MinTime: times[begin], MaxTime: times[end-1]})
	}
	return made, nil
}

func (p *Plan) write() (stats tsdb.BlockStats, err error) {
	id, err := ulid.New(uint64(p.Start), rand.Reader)
	if err != nil {
		return stats, err
	}
	folder := filepath.Join(p.Folder, id.String())
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return stats, err
	}
	data, err := chunks.NewWriter(filepath.Join(folder, "chunks"))
	if err != nil {
		return stats, err
	}
	directory, err := index.NewWriter(context.Background(), filepath.Join(folder, "index"))
	if err != nil {
		return stats, err
	}
	for _, symbol := range p.symbols() {
		if err := directory.AddSymbol(symbol); err != nil {
			return stats, err
		}
	}
	for i := range p.Targets {
		p.Targets[i].prepare(p, uint64(i))
	}
	values := make([]float64, (p.End-p.Start)/p.Step+1)
	metrics, names := p.byMetric()
	for _, name := range names {
		for _, placed := range p.place(metrics[name]) {
			placed.target.values(placed.series, values)
			made, err := encoded(placed.target.times, values)
			if err != nil {
				return stats, err
			}
			if err := data.WriteChunks(made...); err != nil {
				return stats, err
			}
			if err := directory.AddSeries(storage.SeriesRef(stats.NumSeries), placed.labels, made...); err != nil {
				return stats, err
			}
			stats.NumSeries++
			stats.NumChunks += uint64(len(made))
			stats.NumSamples += uint64(len(placed.target.times))
		}
	}
	if err := data.Close(); err != nil {
		return stats, err
	}
	if err := directory.Close(); err != nil {
		return stats, err
	}
	meta, err := json.Marshal(tsdb.BlockMeta{
		ULID: id, MinTime: p.Start, MaxTime: p.End, Stats: stats, Version: 1,
		Compaction: tsdb.BlockMetaCompaction{Level: 1, Sources: []ulid.ULID{id}},
	})
	if err != nil {
		return stats, err
	}
	return stats, os.WriteFile(filepath.Join(folder, "meta.json"), meta, 0o644)
}

func main() {
	log.SetFlags(0)
	var plan Plan
	if err := json.NewDecoder(os.Stdin).Decode(&plan); err != nil {
		log.Fatalf("the plan: %v", err)
	}
	stats, err := plan.write()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("{\"series\": %d, \"samples\": %d}\n", stats.NumSeries, stats.NumSamples)
}
